"""Cost terms and the algebras: sound values everywhere, equal integers in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from parc.compiler.pipeline.rank_table import ROLES
from parc.compiler.pricing import quantities
from parc.compiler.search.cp_sat_algebra import CpSatAlgebra
from parc.compiler.search.cp_sat_run import run
from parc.compiler.search.space import Space
from parc.compiler.time import gradient_sync, step
from parc.compiler.variables import SEARCHED
from tests.support.solver_and_sweep import LATENT, TARGETS, job_of, target_of

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


def role_of(name: str) -> str | None:
    """The kind of a pipeline's ranks that a term is of; None where it is of none."""
    return next((role for role in ROLES if name.startswith(f"{role}_")), None)


#: Each term on each target on which pipelines of the model have ranks of its kind.
SOUND = [
    (name, target)
    for name in TERMS
    for target in TARGETS
    if role_of(name) in (*latent(target).case.roles, None)
]


@pytest.mark.parametrize(("name", "target"), SOUND)
def test_a_term_is_sound_on_arrays_and_scalars(name: str, target: str) -> None:
    space, found = latent(target), TERMS[name]
    rows = np.linspace(0, space.rows - 1, 40).astype(int)
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
            np.broadcast_to(arrays.term(found), (space.rows,)),
            np.broadcast_to(direct, (space.rows,)),
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
    for name in SEARCHED:
        model.add_hint(algebra.variables[name], int(space.layouts[name][row]))
    solver = cp_model.CpSolver()
    solver.parameters.fix_variables_to_their_hinted_value = True
    assert solver.status_name(run(solver, model)) == "OPTIMAL"
    return int(solver.value(bounded.expression)), bounded


@settings(max_examples=40)
@given(expressions, st.integers(0, 10**6))
@example(both("over", constants(0), both("excess", constants(2), variables("tp"))), 0)
def test_the_algebras_agree(expression: Expression, seed: int) -> None:
    space = small()
    row = seed % space.rows
    values = np.broadcast_to(expression(Arrays(space.case, space.layouts)), (space.rows,))
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
