"""Where groups of ranks lie, against a count over all ranks."""

from __future__ import annotations

import random
from collections import Counter
from math import lcm

import numpy as np
import pytest

from parc.compiler.time import collectives
from parc.compiler.time.rank_groups import (
    Groups,
    Straddling,
    filled_domain,
    groups,
    straddling,
)
from parc.dsl.standard import std_cluster

MOST_RANKS = 4000
RACK = std_cluster("gb200_nvl72")


def parts(domain: int, world: int, size: int, stride: int) -> list[list[int]]:
    """Members of each group in each domain that it lies on, in rising order."""
    found = []
    for block in range(world // (size * stride)):
        for offset in range(stride):
            first = block * size * stride + offset
            held = Counter((first + each * stride) // domain for each in range(size))
            found.append(sorted(held.values()))
    return found


def drawn(draws: random.Random) -> tuple[int, int, int]:
    return draws.randint(1, 40), draws.randint(1, 14), draws.randint(1, 12)


def test_groups_lie_as_a_count_over_all_ranks_says() -> None:
    draws = random.Random(1)
    for _ in range(1500):
        domain, size, stride = drawn(draws)
        world = lcm(domain, size * stride)
        if world > MOST_RANKS:
            continue
        every = parts(domain, world, size, stride)
        left = [each for each in every if len(each) > 1]
        found = Groups(size, stride, domain)
        assert bool(found.inside) == (not left), (domain, size, stride)
        assert int(found.least) == min((each[0] for each in left), default=size)
        assert int(found.most) == max((each[-1] for each in left), default=size)
        assert int(found.domains) == max(map(len, every))


def test_a_last_domain_that_is_not_full_splits_groups_no_more_than_is_priced() -> None:
    draws = random.Random(2)
    for _ in range(1500):
        domain, size, stride = drawn(draws)
        world = size * stride * draws.randint(1, 30)
        left = [each for each in parts(domain, world, size, stride) if len(each) > 1]
        found = Groups(size, stride, domain)
        if world > domain:
            assert bool(found.inside) == (not left), (domain, size, stride)
        for each in left:
            assert each[0] >= found.least and each[-1] <= found.most
            assert len(each) <= found.domains


def test_groups_that_leave_are_counted() -> None:
    draws = random.Random(3)
    for _ in range(1500):
        domain, size, stride = drawn(draws)
        world = size * stride * draws.randint(1, 60)
        every = parts(domain, world, size, stride)
        left = sum(len(each) > 1 for each in every)
        found = straddling(domain, world, size, stride)
        assert found == Straddling(left, len(every), domain), (domain, world, size, stride)


def test_columns_are_as_single_layouts() -> None:
    sizes, strides = np.array([1, 4, 6, 12, 16]), np.array([4, 1, 1, 2, 6])
    found = Groups(sizes, strides, 6)
    for index, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        alone = Groups(int(size), int(stride), 6)
        for name in ("inside", "least", "most", "domains", "span"):
            assert getattr(found, name)[index] == getattr(alone, name)


@pytest.mark.parametrize(
    ("nodes", "domain"),
    [
        ((18,), 0),
        ((8, 16), 0),
        ((36,), 72),
        ((32,), 64),
        ((64,), 64),
        ((256,), 64),
        ((24,), 48),
        ((38,), 72),
        ((16, 32), 64),
        ((32, 36), 72),
    ],
)
def test_ranks_fill_equal_parts_of_racks_where_they_can(
    nodes: tuple[int, ...], domain: int
) -> None:
    assert filled_domain(RACK.model_copy(update={"nodes": nodes})) == domain


def test_a_node_is_filled_before_the_next() -> None:
    node = std_cluster("dgx_h100")
    assert filled_domain(node.model_copy(update={"nodes": (1,)})) == 8
    assert filled_domain(node.model_copy(update={"nodes": (3, 5), "gpus_per_node": 6})) == 6
    halves = node.model_copy(update={"nodes": (4,), "nvlink_domain": 4})
    assert filled_domain(halves) == 4


def test_all_ranks_of_a_rack_share_its_link() -> None:
    part = RACK.model_copy(update={"nodes": (16,)})
    assert bool(groups(part, 16, 1).inside) and straddling(0, 64, 16, 1).leaving == 0


def test_the_network_paces_a_group_on_two_nodes() -> None:
    """tp 4 in nodes of six: ranks 4 and 5 lie on one node, 6 and 7 on the next."""
    six = std_cluster("dgx_h100").model_copy(update={"nodes": (2,), "gpus_per_node": 6})
    slow = six.model_copy(update={"network": six.network / 25})
    for size, paced in ((2, False), (3, False), (4, True), (6, False)):
        seconds = [float(collectives.ring(each, 1e8, size, 1)) for each in (six, slow)]
        assert (seconds[1] > 5 * seconds[0]) == paced
        assert paced or seconds[0] == seconds[1]
    ports = float(collectives.bus_bandwidth(slow, 4, 1)) / slow.network
    assert ports == pytest.approx(2 * slow.network_efficiency)
