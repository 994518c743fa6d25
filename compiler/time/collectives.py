"""Links and collectives: seconds to move bytes inside a group of ranks.

A group is `size` ranks, `stride` apart in the global order; these and the results are columns, one number per
layout. Ranks fill a fast domain (NVLink) before the next, and domains fill a pod. Ring collectives (Thakur et
al. 2005; NCCL's bus-bandwidth convention): an all-gather or reduce-scatter of B bytes over n ranks moves B
(n-1)/n through the slowest link of the ring and takes n-1 hops.
"""

import numpy as np

from ...dsl.hardware import Cluster
from ..algebra import Column

#: Seconds before a collective's first byte moves. nccl-tests' all-reduces of two, four and eight A100 take
#: 40, 47 and 71 us of latency (github.com/VIA-Research/vTrain at f8dda84, trace/a100), of which
#: the ring's hops explain all but 34: two passes of this.
START = 17e-6
#: Share of a ring's bandwidth that NCCL's all-to-all reaches inside a node: 0.60 of the link where rings
#: reach 0.67 to 0.74 (SimuMax, configs/system/b200_bf16_ceperm.json, 8 B200).
EXCHANGE_SHARE = 0.85


def per_domain(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Ranks of the group that share a fast domain: min(size, domain / stride), at least 1."""
    return np.asarray(np.clip(cluster.domain // np.maximum(stride, 1), 1, size))


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

    A ring that leaves the domain uses every member's own network port, so `per_domain` ports carry it
    concurrently, up to the speed of the fast link. Beyond a pod the ports run at `pod_network`.
    """
    ports = per_domain(cluster, size, stride)
    fast = fast_link(cluster, ports)
    slow = np.minimum(fast, ports * cluster.network * cluster.network_efficiency)
    if cluster.pod_gpus and cluster.pod_network:
        beyond = np.minimum(fast, ports * cluster.pod_network * cluster.network_efficiency)
        slow = np.where(size * stride > cluster.pod_gpus, np.minimum(slow, beyond), slow)
    return np.where(size * stride <= cluster.domain, fast, slow)


def hop_latency(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds of latency of one collective: hops inside the domain, and a tree across domains.

    NCCL switches to trees for small messages, so latency across domains grows with log2 of their number.
    """
    inside = per_domain(cluster, size, stride)
    domains = -(-size // inside)
    return (inside - 1) * cluster.gpu.nvlink_latency + np.ceil(
        np.log2(domains)
    ) * cluster.network_latency


def ring_latency(cluster: Cluster, size: Column, stride: Column) -> Column:
    """Seconds of latency of one all-gather or reduce-scatter of large tensors: a ring of size - 1 hops, which
    NCCL uses at any size (until 2.23 it has no trees for them)."""
    inside = per_domain(cluster, size, stride)
    domains = -(-size // inside)
    hops = (size - domains) * cluster.gpu.nvlink_latency + (domains - 1) * cluster.network_latency
    return np.where(size > 1, START + hops, 0.0)


def ring(cluster: Cluster, message_bytes: Column, size: Column, stride: Column) -> Column:
    """Seconds of an all-gather or reduce-scatter of `message_bytes` in all; an all-reduce is two."""
    size = np.maximum(size, 1)
    moved = message_bytes * (size - 1) / size / bus_bandwidth(cluster, size, stride)
    return np.where(size > 1, moved + START + hop_latency(cluster, size, stride), 0.0)


def all_to_all(cluster: Cluster, sent_bytes: Column, size: Column, stride: Column) -> Column:
    """Seconds of an all-to-all of `sent_bytes` a rank; a domain's own share uses the fast link."""
    size = np.maximum(size, 1)
    inside = per_domain(cluster, size, stride)
    near = sent_bytes * (inside - 1) / size / EXCHANGE_SHARE
    return _exchange(cluster, near, sent_bytes * (size - inside) / size, size, stride)


def dispatched(
    cluster: Cluster, token_bytes: Column, topk: int, size: Column, stride: Column
) -> Column:
    """Seconds to send `token_bytes` to the ranks of each token's topk experts: once to each domain that has
    any of them, and from there once to each such rank (DeepSeek-V3, arXiv 2412.19437, 3.2.2; DeepEP).
    """
    size = np.maximum(size, 1)
    inside = per_domain(cluster, size, stride)
    domains = size / inside
    ranks = size * (1.0 - (1.0 - 1.0 / size) ** topk)
    visited = domains * (1.0 - (1.0 - 1.0 / domains) ** topk)
    near = token_bytes * ranks * (inside - 1) / inside
    far = token_bytes * visited * (domains - 1) / domains
    return _exchange(cluster, near, far, size, stride)


def _exchange(cluster: Cluster, near: Column, far: Column, size: Column, stride: Column) -> Column:
    """Seconds to send `near` bytes over the fast link and concurrently `far` over the network."""
    fast = fast_link(cluster, per_domain(cluster, size, stride))
    slow = cluster.network * cluster.network_efficiency
    busy = np.maximum(near / fast, far / slow)
    return np.where(size > 1, busy + START + hop_latency(cluster, size, stride), 0.0)


def point_to_point(cluster: Cluster, message_bytes: Column, span: Column) -> Column:
    """Seconds of one send to the next rank in a chain of `span` ranks: over the fast link where the whole
    chain is in one domain, else over the network."""
    fast = cluster.gpu.nvlink_latency + message_bytes / fast_link(cluster, 2)
    slow = cluster.network_latency + message_bytes / (cluster.network * cluster.network_efficiency)
    return np.where(span <= cluster.domain, fast, slow)
