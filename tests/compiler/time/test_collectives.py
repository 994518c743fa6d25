"""Seconds of collectives, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parc.compiler.case import Case
from parc.compiler.time import collectives
from parc.compiler.time import parallel_traffic as traffic
from parc.dsl.hardware import Cluster
from tests.support import sample_plans
from tests.support.solver_and_sweep import LATENT, job_of, target_of

GPU = sample_plans.H100.model_copy(
    update={"nvlink": 400e9, "link_efficiency": 1.0, "nvlink_latency": 1e-6}
)
CLUSTER = Cluster(
    gpu=GPU,
    nodes=(64,),
    gpus_per_node=8,
    network=40e9,
    network_efficiency=1.0,
    network_latency=10e-6,
    pod_gpus=256,
    pod_network=10e9,
)


@pytest.mark.parametrize(
    ("size", "stride", "seconds"),
    [
        (1, 1, 0.0),
        (8, 1, (7 + collectives.OWN_PART) / 8 * 8e9 / 400e9 + 7e-6),
        (2, 4, (1 + collectives.OWN_PART) / 2 * 8e9 / 400e9 + 1e-6),
        (2, 8, 1 / 2 * 8e9 / 40e9 + 10e-6),
        (4, 8, 3 / 4 * 8e9 / 40e9 + 20e-6),
        (4, 4, 3 / 4 * 8e9 / 80e9 + 1e-6 + 10e-6),
        (16, 1, 15 / 16 * 8e9 / 320e9 + 7e-6 + 10e-6),
        (12, 1, 11 / 12 * 8e9 / 160e9 + 7e-6 + 10e-6),
        (64, 8, 63 / 64 * 8e9 / 10e9 + 60e-6),
    ],
)
def test_ring(size: int, stride: int, seconds: float) -> None:
    """B (n - 1) / n over the slowest link, in a domain a share of the own part too; ports side by side of the
    domain with fewest members (4 of 12 ranks in nodes of 8); a tree of domains."""
    start = collectives.START if size > 1 else 0.0
    found = float(collectives.ring(CLUSTER, 8e9, size, stride))
    assert found == pytest.approx(start + seconds, rel=1e-5)


def test_small_collectives_of_a_domain_take_a_share_of_the_latency() -> None:
    """SMALL_SHARE of it for nothing at all, all of it for large messages; across domains always all."""
    whole = collectives.START + 7e-6
    none = float(collectives.ring(CLUSTER, 0.0, 8, 1))
    assert none == pytest.approx(collectives.SMALL_SHARE * whole)
    halfway = 8 * collectives.HALFWAY_BYTES
    moved = (7 + collectives.OWN_PART) / 8 * halfway / 400e9
    found = float(collectives.ring(CLUSTER, halfway, 8, 1))
    assert found == pytest.approx(moved + (1 + collectives.SMALL_SHARE) / 2 * whole)
    assert float(collectives.ring(CLUSTER, 0.0, 2, 8)) == collectives.START + 10e-6


@pytest.mark.parametrize(
    ("size", "stride", "seconds"),
    [
        (1, 1, 0.0),
        (8, 1, (14 + collectives.OWN_PART) / 8 * 8e9 / 400e9 + 14e-6),
        (2, 8, 8e9 / 40e9 + 20e-6),
    ],
)
def test_all_reduce(size: int, stride: int, seconds: float) -> None:
    """Two ring passes, started once."""
    start = collectives.START if size > 1 else 0.0
    found = float(collectives.all_reduce(CLUSTER, 8e9, size, stride))
    assert found == pytest.approx(start + seconds, rel=1e-5)


def test_a_switch_that_sums_sends_each_byte_once_where_that_is_faster() -> None:
    gpu = GPU.model_copy(update={"switch_sums": 0.6})
    cluster = CLUSTER.model_copy(update={"gpu": gpu})
    assert float(collectives.all_reduce_rate(cluster, 8, 1)) == pytest.approx(1 / (0.6 * 400e9))
    for size, stride in ((2, 1), (2, 8), (16, 1)):
        ring = float(collectives.all_reduce_rate(CLUSTER, size, stride))
        assert float(collectives.all_reduce_rate(cluster, size, stride)) == ring


@pytest.mark.parametrize(
    ("size", "stride", "seconds"),
    [(1, 1, 0.0), (8, 1, 7e-6), (64, 1, 56e-6 + 70e-6), (16, 4, 8e-6 + 70e-6), (8, 8, 70e-6)],
)
def test_a_ring_of_large_tensors_hops_past_every_rank(
    size: int, stride: int, seconds: float
) -> None:
    start = collectives.START if size > 1 else 0.0
    assert float(collectives.ring_latency(CLUSTER, size, stride)) == pytest.approx(start + seconds)


@pytest.mark.parametrize(
    ("size", "stride", "seconds"),
    [
        (1, 1, 0.0),
        (8, 1, (7 + collectives.OWN_EXCHANGED_PART) / 8 * 8e9 / 400e9 + 1e-6),
        (16, 1, 8 / 16 * 8e9 / 40e9 + 7e-6 + 10e-6),
        (4, 8, 3 / 4 * 8e9 / 40e9 + 20e-6),
        (4, 4, 2 / 4 * 8e9 / 40e9 + 1e-6 + 10e-6),
    ],
)
def test_all_to_all(size: int, stride: int, seconds: float) -> None:
    """The share for the own domain stays on the fast link, beside the rest on every port."""
    start = collectives.START if size > 1 else 0.0
    found = float(collectives.all_to_all(CLUSTER, 8e9, size, stride))
    assert found == pytest.approx(start + seconds, rel=1e-5)


@pytest.mark.parametrize(
    ("topk", "size", "seconds"),
    [
        (8, 1, 0.0),
        (1, 8, 7 / 8 * 8e9 / 400e9 + 7e-6),
        (2, 8, 8 * (1 - (7 / 8) ** 2) * 7 / 8 * 8e9 / 400e9 + 7e-6),
        (1, 16, 8 / 16 * 8e9 / 40e9 + 7e-6 + 10e-6),
        (8, 16, 2 * (1 - (1 / 2) ** 8) / 2 * 8e9 / 40e9 + 7e-6 + 10e-6),
    ],
)
def test_a_token_is_sent_once_to_a_rank_and_once_to_a_domain(
    topk: int, size: int, seconds: float
) -> None:
    start = collectives.START if size > 1 else 0.0
    routing = collectives.Routing(topk)
    found = float(collectives.dispatched(CLUSTER, 8e9, routing, size, 1))
    assert found == pytest.approx(start + seconds)


@pytest.mark.parametrize("parts", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize(
    ("topk", "groups", "limited"), [(8, 8, 4), (6, 8, 3), (2, 4, 1), (8, 1, 1)]
)
def test_a_token_visits_as_many_parts_as_drawn_choices_do(
    topk: int, groups: int, limited: int, parts: int
) -> None:
    draws = np.random.default_rng(0)
    seen = []
    for _ in range(4000):
        chosen = draws.choice(groups, limited, replace=False)
        experts = (draws.choice(chosen, topk) + draws.random(topk)) / groups
        seen.append(len(set((experts * parts).astype(int))))
    expected = collectives.Routing(topk, groups, limited).visited(float(parts))
    assert float(expected) == pytest.approx(np.mean(seen), rel=0.02)


def test_point_to_point() -> None:
    assert float(collectives.point_to_point(CLUSTER, 4e9, 8)) == pytest.approx(1e-2 + 1e-6)
    assert float(collectives.point_to_point(CLUSTER, 4e9, 16)) == pytest.approx(1e-1 + 10e-6)


def test_a_rack_wide_link_is_fast_across_nodes() -> None:
    rack = CLUSTER.model_copy(update={"nvlink_domain": 64})
    seconds = collectives.START + (15 + collectives.OWN_PART) / 16 * 8e9 / 400e9 + 15e-6
    assert float(collectives.ring(rack, 8e9, 16, 1)) == pytest.approx(seconds, rel=1e-5)


@pytest.mark.parametrize(
    ("size", "stride", "links"),
    [(2, 1, 1), (4, 1, 3), (4, 2, 3), (8, 1, 7)],
)
def test_a_group_in_a_mesh_has_the_links_between_its_members(
    size: int, stride: int, links: int
) -> None:
    mesh = CLUSTER.model_copy(update={"nvlink_mesh": True})
    rate = float(collectives.bus_bandwidth(CLUSTER, size, stride)) * links / 7
    assert float(collectives.bus_bandwidth(mesh, size, stride)) == pytest.approx(rate)


def test_a_mesh_holds_back_neither_a_ring_over_the_network_nor_whole_nodes() -> None:
    mesh = CLUSTER.model_copy(update={"nvlink_mesh": True})
    alone = mesh.model_copy(update={"gpus_per_node": 1})
    switched = CLUSTER.model_copy(update={"gpus_per_node": 1})
    assert float(collectives.ring(alone, 8e9, 4, 1)) == float(collectives.ring(switched, 8e9, 4, 1))
    for size, stride in ((4, 8), (16, 1), (32, 1)):
        ring = collectives.ring(mesh, 8e9, size, stride)
        assert float(ring) == float(collectives.ring(CLUSTER, 8e9, size, stride))
    for size in (8, 16):
        exchange = collectives.all_to_all(mesh, 8e9, size, 1)
        assert float(exchange) == float(collectives.all_to_all(CLUSTER, 8e9, size, 1))


def test_neighbours_in_a_mesh_send_over_one_link() -> None:
    mesh = CLUSTER.model_copy(update={"nvlink_mesh": True})
    latency = CLUSTER.gpu.nvlink_latency
    through_switch = float(collectives.point_to_point(CLUSTER, 4e9, 8)) - latency
    over_one_link = float(collectives.point_to_point(mesh, 4e9, 8)) - latency
    assert over_one_link == pytest.approx(7 * through_switch)


def test_backward_collectives_run_beside_gradients() -> None:
    """With long gradients only the gather of the output's is open, and the other two take cores; with none
    all three are. Without sequence parallelism the all-reduce alone is left, and hides."""
    job = job_of(target="megatron", model={**LATENT, "mtp_layers": 0})
    case = Case(job, target_of(job))
    once = traffic.tensor(case, 4, 8192) / 2
    cores = 2 * once * traffic.COMMUNICATION_CORES / case.gpu.sms
    assert traffic.tensor_backward(case, 4, 8192, 1.0) == pytest.approx(once + cores)
    assert traffic.tensor_backward(case, 4, 8192, 0.0) == pytest.approx(3 * once + cores)
    alone = Case(job, replace(case.target, traits=case.traits.replaced(sequence_parallel=False)))
    whole = traffic.tensor(alone, 4, 8192)
    cores = whole * traffic.COMMUNICATION_CORES / case.gpu.sms
    assert traffic.tensor_backward(alone, 4, 8192, 1.0) == pytest.approx(cores)
    plain = replace(case.target, traits=case.traits.replaced(tensor_parallel_backward=False))
    assert traffic.tensor_backward(Case(job, plain), 4, 8192, 1.0) == pytest.approx(2 * once)
