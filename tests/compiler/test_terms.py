"""Cost terms and the algebras: collectives by hand, sound values everywhere, equal integers in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parc.compiler.algebra import LIMIT, Arrays, Bounded, Numbers, Term, constant, term
from parc.compiler.case import Case
from parc.compiler.memory import activations, model_states
from parc.compiler.pipeline import rank_load
from parc.compiler.pricing import quantities
from parc.compiler.search.cp_sat_algebra import CpSatAlgebra
from parc.compiler.search.cp_sat_run import run
from parc.compiler.search.space import Space
from parc.compiler.time import collectives, gradient_sync, step
from parc.compiler.time import parallel_traffic as traffic
from parc.compiler.variables import ORDER
from parc.dsl.hardware import Cluster
from tests.support import sample_plans
from tests.support.solver_and_sweep import LATENT, TARGETS, job_of, target_of

# --- collectives ---

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
        (12, 1, 11 / 12 * 8e9 / 320e9 + 7e-6 + 10e-6),
        (64, 8, 63 / 64 * 8e9 / 10e9 + 60e-6),
    ],
)
def test_ring(size: int, stride: int, seconds: float) -> None:
    """B (n - 1) / n over the slowest link, in a domain a share of the own part too; ports of a domain's
    members side by side; a tree of domains."""
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


# --- terms ---


def terms_in(value: object) -> Iterator[Term]:
    if isinstance(value, Term):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from terms_in(item)


TERMS = {
    found.name: found
    for module in (activations, model_states, step, gradient_sync, rank_load, quantities)
    for value in vars(module).values()
    for found in terms_in(value)
}


@cache
def latent(target: str) -> Space:
    """Experts, latent attention, a dense and a prediction layer, as far as a target has them."""
    model = LATENT if target == "megatron" else {**LATENT, "mtp_layers": 0}
    if target == "deepspeed":
        model = {name: model[name] for name in ("layers", "hidden", "heads", "ffn", "vocab")}
    job = job_of(target=target, model=model)
    return Space(Case(job, target_of(job)))


def test_there_are_terms_of_every_kind() -> None:
    assert len(TERMS) > 50
    assert {"ns", "KiB", "ns/Mi", "Ki", "1/4096 B"} <= {found.unit for found in TERMS.values()}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TERMS)
def test_a_term_is_sound_on_arrays_and_scalars(name: str, target: str) -> None:
    space, found = latent(target), TERMS[name]
    rows = np.linspace(0, space.size - 1, 40).astype(int)
    columns = {variable: space.layouts[variable][rows] for variable in found.of}
    exact = np.broadcast_to(
        np.asarray(found.function(space.case, *columns.values()), dtype=np.float64), rows.shape
    )
    assert np.isfinite(exact).all()
    assert (exact >= 0).all()
    values = np.broadcast_to(found(space.case, columns), rows.shape)
    assert values.dtype == np.int64
    assert (values >= exact - 1e-6).all() and (values < exact + 1).all()
    for place in (0, 17, 39):
        single = {variable: int(column[place]) for variable, column in columns.items()}
        assert int(np.ravel(found(space.case, single))[0]) == values[place]


#: For terms that ask nothing of their case.
NO_CASE = cast(Case, None)


def test_a_term_rounds_up_and_never_overflows() -> None:
    @term("1", of=("tp",))
    def huge(case: object, tp: Any) -> Any:
        return np.where(tp > 1, 1e300, 0.2)

    assert huge(NO_CASE, {"tp": np.array([1, 2])}).tolist() == [1, LIMIT]
    arrays = Arrays(NO_CASE, {"tp": np.array([1, 2, 3])})
    assert arrays.times(np.array([2, LIMIT, 5]), np.array([3, 3, 7])).tolist() == [6, LIMIT, 35]


def test_terms_are_gathered_as_they_are_computed() -> None:
    space = latent("megatron")
    arrays = Arrays(space.case, space.layouts)
    for found in TERMS.values():
        direct = found(space.case, {name: space.layouts[name] for name in found.of})
        assert np.array_equal(
            np.broadcast_to(arrays.term(found), (space.size,)),
            np.broadcast_to(direct, (space.size,)),
        ), found.name


# --- the algebras ---

Expression = Callable[[Any], Any]
VARIABLES = ("tp", "pp", "vpp", "micro_batch", "microbatches", "dp", "zero", "recompute_layers")


def constants(value: int) -> Expression:
    return lambda x: value


def variables(name: str) -> Expression:
    return lambda x: x.variable(name)


def both(op: str, left: Expression, right: Expression) -> Expression:
    return {
        "+": lambda x: left(x) + right(x),
        "scaled": lambda x: 3 * left(x) + right(x) * 2,
        "times": lambda x: x.times(left(x), right(x)),
        "over": lambda x: x.over(left(x), right(x) + 1),
        "largest": lambda x: x.largest(left(x), right(x), 7),
        "excess": lambda x: x.excess(left(x), right(x)),
        "tabulated": lambda x: x.term(step.tensor_forward) + left(x),
    }[op]


OPERATIONS = ("+", "scaled", "times", "over", "largest", "excess", "tabulated")
expressions = st.recursive(
    st.one_of(
        st.builds(constants, st.integers(0, 50)), st.builds(variables, st.sampled_from(VARIABLES))
    ),
    lambda inner: st.builds(both, st.sampled_from(OPERATIONS), inner, inner),
    max_leaves=8,
)


@cache
def small() -> Space:
    job = job_of(cluster={"nodes": 1})
    return Space(Case(job, target_of(job)))


def solved(space: Space, expression: Expression, row: int) -> tuple[int, Bounded]:
    """The value of an expression in CP-SAT when the decisions are those of one layout."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    algebra = CpSatAlgebra(space, model)
    bounded = constant(expression(algebra))
    for name in ORDER:
        model.add_hint(algebra.variables[name], int(space.layouts[name][row]))
    solver = cp_model.CpSolver()
    solver.parameters.fix_variables_to_their_hinted_value = True
    assert solver.status_name(run(solver, model)) == "OPTIMAL"
    return int(solver.value(bounded.expression)), bounded


@settings(max_examples=40, derandomize=True, deadline=None)
@given(expressions, st.integers(0, 10**6))
@example(both("over", constants(0), both("excess", constants(2), variables("tp"))), 0)
def test_the_algebras_agree(expression: Expression, seed: int) -> None:
    space = small()
    row = seed % space.size
    values = np.broadcast_to(expression(Arrays(space.case, space.layouts)), (space.size,))
    layout = {name: int(column[row]) for name, column in space.layouts.items()}
    assert expression(Numbers(space.case, layout)) == int(values[row])
    value, bounded = solved(space, expression, row)
    assert value == int(values[row])
    assert bounded.low <= int(values.min())
    assert int(values.max()) <= bounded.high


def test_a_product_of_wide_bounds_is_one_that_the_solver_takes() -> None:
    """Bounds of a difference reach below what a solver's integer holds, where its value is small."""
    space, wide = small(), 2**48

    def product(x: Any) -> Any:
        same = x.variable("tp") * wide + x.variable("tp") * -wide
        return x.times(same + x.variable("tp"), x.variable("micro_batch") * 2**20)

    row = int(np.argmax(space.layouts["tp"] * space.layouts["micro_batch"]))
    value, bounded = solved(space, product, row)
    tp, micro_batch = (int(space.layouts[name][row]) for name in ("tp", "micro_batch"))
    assert value == tp * micro_batch * 2**20
    assert -LIMIT <= bounded.low < 0 < bounded.high <= LIMIT


def test_bounds_of_sums_and_products() -> None:
    one, two = Bounded(0, 2, 5), Bounded(0, -1, 3)
    sums = one + two + 4
    assert (sums.low, sums.high) == (5, 12)
    assert ((one - two).low, (one - two).high) == (-1, 6)
    assert ((1 - one).low, (1 - one).high) == (-4, -1)
    assert ((two * -2).low, (two * -2).high) == (-6, 2)
