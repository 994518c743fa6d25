"""Links and collectives: seconds to move bytes inside a group of ranks.

A group is `size` ranks, `stride` apart in the global order; these and the results are columns, one number per
layout. Ranks fill a fast domain (NVLink) before the next, and domains fill a pod; the slowest group of a kind
is priced, one that leaves its domain where any does (rank_groups.py). Ring collectives (Thakur et al. 2005;
NCCL's bus-bandwidth convention): an all-gather or reduce-scatter of B bytes over n ranks moves B (n-1)/n
through the slowest link of the ring and takes n-1 hops.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from ...dsl.hardware import Cluster
from ..algebra import Column
from .rank_groups import Groups, groups

#: Seconds that a collective of large messages takes beside its bytes and its ring's hops. This and the next
#: three are fitted to 422 collectives of NCCL 2.27 and 2.29 among 2 to 8 GPUs of a node or rack, A100 to
#: GB200, 64 KiB to 512 MiB (benchmarks/data/kernels_public.csv). nccl-tests' all-reduces of two, four and
#: eight A100 have 40, 47 and 71 us of latency (github.com/VIA-Research/vTrain at f8dda84, trace/a100): this
#: and 7, 20 and 48 us of hops.
START = 28e-6
#: Share of a collective's latency that small messages take: NCCL sends them by protocols that poll flags in
#: the data (LL, LL128), where large ones wait for memory fences (NCCL, src/graph/tuning.cc).
SMALL_SHARE = 1 / 3
#: Bytes of a rank's part at which half of the rest of the latency is taken.
HALFWAY_BYTES = 2.5e6
#: What a rank's own part, which it copies and does not send, takes of the time of a part that it sends: in
#: rings, and in an all-to-all.
OWN_PART, OWN_EXCHANGED_PART = 0.45, 0.8


def fast_link(cluster: Cluster, members: Column) -> Column:
    """Bytes per second of a rank's fast link to `members` ranks of its domain, itself included.

    Through a switch the whole link; in a mesh the share of its links that lead to these members. A single
    member, whose ring leaves the domain, has the whole link.
    """
    rate = cluster.gpu.nvlink * cluster.gpu.link_efficiency
    if not cluster.nvlink_mesh or cluster.domain == 1:
        return rate
    peers = np.where(members > 1, members - 1, cluster.domain - 1)
    return rate * peers / (cluster.domain - 1)


def bus_bandwidth(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Bytes per second through the ring's slowest link.

    A ring that leaves the domain uses every member's own network port, so the ports of the domain with fewest
    members carry it concurrently, up to the speed of the fast link. Beyond a pod they run at `pod_network`.
    """
    return _bandwidth(cluster, groups(cluster, size, stride))


def _bandwidth(cluster: Cluster, lying: Groups) -> Column:
    ports = lying.least
    fast = fast_link(cluster, ports)
    slow = np.minimum(fast, ports * cluster.network * cluster.network_efficiency)
    if cluster.pod_gpus and cluster.pod_network:
        beyond = np.minimum(fast, ports * cluster.pod_network * cluster.network_efficiency)
        slow = np.where(lying.span > cluster.pod_gpus, np.minimum(slow, beyond), slow)
    return np.where(lying.inside, fast, slow)


def hop_latency(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds of latency of one collective: hops inside the domain, and a tree across domains.

    NCCL switches to trees for small messages, so latency across domains grows with log2 of their number.
    """
    return _tree_latency(cluster, groups(cluster, size, stride))


def _tree_latency(cluster: Cluster, lying: Groups) -> Column:
    across = np.ceil(np.log2(lying.domains)) * cluster.network_latency
    return (lying.most - 1) * cluster.gpu.nvlink_latency + across


def neighbour_latency(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds of latency from one member to the next: on the network where none shares its domain with
    another."""
    near = groups(cluster, size, stride).least > 1
    return np.where(near, cluster.gpu.nvlink_latency, cluster.network_latency)


def ring_latency(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds of latency of one all-gather or reduce-scatter of large tensors: a ring of size - 1 hops, which
    NCCL uses at any size (until 2.23 it has no trees for them)."""
    domains = groups(cluster, size, stride).domains
    hops = (size - domains) * cluster.gpu.nvlink_latency + (domains - 1) * cluster.network_latency
    return np.where(size > 1, START + hops, 0.0)


def all_reduce_latency(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds of latency of one all-reduce of large tensors: one start, and hops there and back."""
    return np.where(size > 1, START + 2.0 * hop_latency(cluster, size, stride), 0.0)


def _latency_share(message_bytes: Column, lying: Groups) -> Column:
    """Share of the latency of large messages that a collective of `message_bytes` in all takes, from
    SMALL_SHARE to 1; across domains, of which nothing is measured, 1."""
    part = message_bytes / lying.size
    inside = SMALL_SHARE + (1.0 - SMALL_SHARE) * part / (part + HALFWAY_BYTES)
    return np.where(lying.inside, inside, 1.0)


def passed_share(lying: Groups) -> Column:
    """Bytes that a rank handles in one ring pass, over those of the whole buffer: the others' parts, and in a
    domain, where nothing slower hides its copy, its own at OWN_PART."""
    size = lying.size
    own = np.where(lying.inside, OWN_PART, 0.0)
    return np.where(size > 1, (size - 1 + own) / size, 0.0)


def ring(cluster: Cluster, message_bytes: Column, size: Column, stride: Column) -> Column:
    """Seconds of an all-gather or reduce-scatter of `message_bytes` in all."""
    size = np.maximum(size, 1)
    lying = groups(cluster, size, stride)
    moved = message_bytes * passed_share(lying)
    latency = START + _tree_latency(cluster, lying)
    latency = latency * _latency_share(message_bytes, lying)
    return np.where(size > 1, moved / _bandwidth(cluster, lying) + latency, 0.0)


def all_reduce(cluster: Cluster, message_bytes: Column, size: Column, stride: Column) -> Column:
    """Seconds of an all-reduce of `message_bytes`."""
    size = np.maximum(size, 1)
    lying = groups(cluster, size, stride)
    latency = np.where(size > 1, START + 2.0 * _tree_latency(cluster, lying), 0.0)
    latency = latency * _latency_share(message_bytes, lying)
    return message_bytes * _all_reduce_rate(cluster, lying) + latency


def all_reduce_rate(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds per byte of an all-reduce: two ring passes, of which one handles a rank's own part, or in a
    domain whose switch sums (NVLink SHARP), if that is faster, each byte sent and received once."""
    return _all_reduce_rate(cluster, groups(cluster, size, stride))


def _all_reduce_rate(cluster: Cluster, lying: Groups) -> Column:
    size = lying.size
    once = passed_share(lying) + np.where(size > 1, (size - 1) / size, 0.0)
    rings = once / _bandwidth(cluster, lying)
    if not cluster.gpu.switch_sums or cluster.nvlink_mesh:
        return rings
    summed = np.where(size > 1, 1.0 / (cluster.gpu.nvlink * cluster.gpu.switch_sums), 0.0)
    return np.where(lying.inside, np.minimum(rings, summed), rings)


def all_to_all(cluster: Cluster, sent_bytes: Column, size: Column, stride: Column) -> Column:
    """Seconds of an all-to-all of `sent_bytes` a rank; a domain's own share uses the fast link.

    In one domain all pairs exchange at once, one hop apart.
    """
    size = np.maximum(size, 1)
    lying = groups(cluster, size, stride)
    near = sent_bytes * (lying.most - 1 + OWN_EXCHANGED_PART) / size
    spread = _exchange(cluster, near, sent_bytes * (size - lying.least) / size, lying)
    latency = _latency_share(sent_bytes, lying) * (START + cluster.gpu.nvlink_latency)
    alone = np.where(size > 1, near / fast_link(cluster, size) + latency, 0.0)
    return np.where(lying.inside, alone, spread)


@dataclass(frozen=True)
class Routing:
    """How many experts a token visits, `limited` of the `groups` of experts at most: consecutive experts,
    which consecutive ranks hold (DeepSeek-V3, arXiv 2412.19437, 2.1.2)."""

    topk: int
    groups: int = 1
    limited: int = 1

    def visited(self, parts: Column) -> Column:
        """The number of `parts` equal stretches of experts that a token visits in the mean, if it prefers
        none: groups are chosen first, then experts among theirs."""
        share = self.groups / np.asarray(parts)
        whole, split = np.maximum(share, 1.0), np.minimum(share, 1.0) / self.limited
        missed = sum(
            self._chosen(whole, count) * (1.0 - split * count) ** self.topk
            for count in range(self.limited + 1)
        )
        return parts * (1.0 - missed)

    def _chosen(self, whole: Column, count: int) -> Column:
        """The probability that `count` of `whole` groups are among those chosen."""
        others = _binomial(self.groups - whole, self.limited - count)
        return _binomial(whole, count) * others / comb(self.groups, self.limited)


def _binomial(number: Column, chosen: int) -> Column:
    """Ways to choose `chosen` of `number`."""
    factors = (np.maximum(number - each, 0.0) / (each + 1) for each in range(chosen))
    return np.asarray(np.prod([np.ones_like(number), *factors], axis=0))


def dispatched(
    cluster: Cluster, token_bytes: Column, routing: Routing, size: Column, stride: Column
) -> Column:
    """Seconds to send `token_bytes` to the ranks of the experts that each token visits: once to each domain
    that has any of them, and from there once to each such rank (DeepSeek-V3, arXiv 2412.19437, 3.2.2). The
    rank with fewest others in its domain sends most, as if the rest lay in equal parts on the other domains.
    """
    size = np.maximum(size, 1)
    lying = groups(cluster, size, stride)
    others, outside = lying.domains - 1, size - lying.least
    parts = np.where(outside > 0, others * size / np.maximum(outside, 1), 1.0)
    near = token_bytes * routing.visited(size) * (lying.most - 1) / lying.most
    far = token_bytes * routing.visited(parts) * outside / size
    return _exchange(cluster, near, far, lying)


def _exchange(cluster: Cluster, near: Column, far: Column, lying: Groups) -> Column:
    """Seconds to send `near` bytes over the fast link and concurrently `far` over the network."""
    fast = fast_link(cluster, lying.most)
    slow = cluster.network * cluster.network_efficiency
    busy = np.maximum(near / fast, far / slow)
    return np.where(lying.size > 1, busy + START + _tree_latency(cluster, lying), 0.0)


def point_to_point(cluster: Cluster, message_bytes: Column, span: Column) -> Column:
    """Seconds of one send to the next rank in a chain of `span` ranks: over the fast link where the whole
    chain is in one domain, else over the network."""
    fast = cluster.gpu.nvlink_latency + message_bytes / fast_link(cluster, 2)
    slow = cluster.network_latency + message_bytes / (cluster.network * cluster.network_efficiency)
    return np.where(span <= cluster.domain, fast, slow)
