"""Groups of ranks -> where they lie: inside one fast domain, or on several, and how many members in each.

Groups of a kind are blocks of `size * stride` consecutive ranks: group `offset` of block `b` has the ranks
`b * size * stride + offset + k * stride`, k < size, offset < stride. Ranks fill a fast domain before the
next, so a group stays inside if all its ranks have the same `rank // domain`. Sizes and strides are whole
numbers or columns of them, one per layout; pricing, launch files, plans and lint ask here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd
from typing import NamedTuple

from ...dsl.arrays import np
from ...dsl.hardware import Cluster
from ..algebra import Column, Integers, Mask


@dataclass(frozen=True)
class Groups:
    """All groups of `size` ranks, `stride` apart, among domains of `domain` consecutive ranks (0: all ranks
    lie in one).

    Blocks start at multiples of `size * stride` and domains at multiples of `domain`, so a domain cuts a
    block at a multiple of their greatest common divisor, and over all blocks at each of them.
    """

    size: Column
    stride: Column
    domain: int

    @cached_property
    def span(self) -> Integers:
        """Ranks of a block, from the first to the last of a group and of those between."""
        return np.asarray(self.size, dtype=np.int64) * np.asarray(self.stride, dtype=np.int64)

    @cached_property
    def _piece(self) -> Integers:
        """Consecutive ranks that neither blocks nor domains cut."""
        return np.gcd(self.span, self.domain)

    @cached_property
    def least(self) -> Integers:
        """Members in the domain that has fewest of a group: those that connect it to the network."""
        return np.clip(self._piece // np.maximum(self.stride, 1), 1, self.size).astype(np.int64)

    @cached_property
    def inside(self) -> Mask:
        """Whether all groups stay inside a domain."""
        return np.asarray(self.least == self.size)

    @cached_property
    def most(self) -> Integers:
        """Members in the domain that has most of a group; of groups that leave one, where any does."""
        whole = -(-self.domain // np.maximum(self.stride, 1))
        split = np.minimum(self.size - self.least, whole)
        return np.asarray(np.where(self.inside, self.size, split), dtype=np.int64)

    @cached_property
    def domains(self) -> Integers:
        """Domains on which the most spread group lies."""
        uncut = np.maximum(self._piece, self.stride)
        touched = -((uncut - self.span) // max(self.domain, 1)) + 1
        return np.asarray(np.minimum(touched, self.size), dtype=np.int64)


def groups(cluster: Cluster, size: Column, stride: Column) -> Groups:
    """The groups of a job on a cluster."""
    return Groups(size, stride, filled_domain(cluster))


def filled_domain(cluster: Cluster) -> int:
    """Consecutive ranks that share a fast link; 0 where all ranks do.

    A node, or all of a rack of nodes before the next rack. Where a larger part of a rack than half divides
    the nodes of the job, each rack gives so many: 64 of 72 GPUs to jobs of 128. A range of nodes for which
    this differs is taken to fill the racks.
    """
    if cluster.domain <= cluster.gpus_per_node:
        return cluster.domain
    return _filled_rack(cluster.nodes, cluster.gpus_per_node, cluster.domain)


@lru_cache(maxsize=64)
def _filled_rack(nodes: tuple[int, ...], gpus_per_node: int, domain: int) -> int:
    rack = domain // gpus_per_node
    shares = {_share(count, rack) for count in nodes if count > rack}
    if len(shares) > 1:
        return domain
    return gpus_per_node * shares.pop() if shares else 0


def _share(nodes: int, rack: int) -> int:
    """Nodes that a job takes of each rack that it needs."""
    even = next(count for count in range(rack, 0, -1) if nodes % count == 0)
    return even if 2 * even > rack else rack


class Straddling(NamedTuple):
    """Groups of ranks that straddle domains: of `total` groups of a kind, `leaving` lie on more than one
    domain, each of `domain` ranks."""

    leaving: int
    total: int
    domain: int


def straddling(domain: int, world: int, size: int, stride: int) -> Straddling:
    """How many of the groups of `world` ranks leave their domain of `domain` consecutive ones (0: all)."""
    block, span = size * stride, (size - 1) * stride
    blocks = world // block
    if not domain or not span:
        return Straddling(0, blocks * stride, domain)
    period = domain // gcd(block, domain)
    starts = np.arange(min(period, blocks), dtype=np.int64) * block % domain
    left = _leaving(starts, span, stride, domain)
    repeated, rest = divmod(blocks, period)
    leaving = repeated * int(left.sum()) + int(left[:rest].sum()) if repeated else int(left.sum())
    return Straddling(leaving, blocks * stride, domain)


def _leaving(starts: Integers, span: int, stride: int, domain: int) -> Integers:
    """Groups of each block that leave their domain, if the block starts at this place in a domain: a group
    does whose first rank lies within `span` of the domain's end."""
    end = starts + stride
    late = max(domain - span, 0)

    def before(place: Integers) -> Integers:
        """The number of ranks before a place that lie within `span` of the end of their domain."""
        return place // domain * (domain - late) + np.maximum(place % domain - late, 0)

    return before(end) - before(starts)
