"""Every example on every target: the proven optimum is the best of all layouts, or of all that bounds leave
of a large space, and all accounts agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.plan import Estimate, Layout, Plan
from parc.compiler.pricing.estimate import one_row
from parc.compiler.pricing.quantities import price
from parc.compiler.rules.validity import predicates
from parc.compiler.search import best_first
from parc.compiler.search.cp_sat_run import run
from parc.compiler.search.cp_sat_search import Search
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import objectives, score
from parc.compiler.target import holds
from parc.compiler.variables import ORDER, SEARCHED
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.solver_and_sweep import Answers, answered, example

CASES = tuple((name, spec.name) for name in EXAMPLES for spec in example(name).targets)
every_case = pytest.mark.parametrize(
    ("name", "target"), CASES, ids=["-".join(case) for case in CASES]
)
every_example = pytest.mark.parametrize("name", EXAMPLES)


@every_case
def test_no_layout_is_better(name: str, target: str) -> None:
    """The solver is not told what the sweep found."""
    found = answered(name, target)
    assert found.solution is not None
    assert found.solution.status == "OPTIMAL"
    assert found.solution.bound == found.solution.value
    scores = score(objectives(found.case)[0], found.swept)[found.swept.feasible]
    assert scores.min() == found.solution.value


@every_case
def test_ties_break_alike(name: str, target: str) -> None:
    found = answered(name, target)
    assert found.layout == found.best


@every_case
def test_the_rules_accept_the_best(name: str, target: str) -> None:
    found = answered(name, target)
    columns = one_row(found.case, found.placed)
    for rule in predicates(found.case.target):
        assert np.all(holds(rule, found.case.job, columns)), rule.name


@every_case
def test_the_best_is_one_of_the_layouts_that_were_counted(name: str, target: str) -> None:
    found = answered(name, target)
    same = [found.space.layouts[variable] == value for variable, value in found.placed.items()]
    assert np.logical_and.reduce(same).sum() == 1


def totals_of(search: Search, layout: Mapping[str, int]) -> tuple[int, ...]:
    """Step, bubble and memory of one layout as the solver's model computes them."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.fix_variables_to_their_hinted_value = True
    solver.parameters.cp_model_presolve = False  # as in every search; here it took 20 s and 12 GB
    search.model.clear_hints()  # type: ignore[no-untyped-call]
    for name in SEARCHED:
        search.model.add_hint(search.solver.variables[name], layout[name])
    assert solver.status_name(run(solver, search.model)) == "OPTIMAL"
    totals = search.totals
    values = (totals.step_ns, totals.bubble_ns, totals.memory_kib)
    return tuple(int(solver.value(value.expression)) for value in values)


def some_rows(found: Answers) -> list[int]:
    """The best layout, the worst, and two between."""
    order = found.swept.order
    return sorted({int(order[k * (len(order) - 1) // 3]) for k in range(4)})


@every_case
def test_solver_and_numpy_price_alike(name: str, target: str) -> None:
    found = answered(name, target)
    search = Search(found.space)
    for row in some_rows(found):
        layout = found.swept.decisions(row)
        prices = price(found.case, one_row(found.case, layout))
        expected = (prices.step_ns, prices.bubble_ns, prices.memory_kib)
        assert totals_of(search, layout) == tuple(int(np.ravel(value)[0]) for value in expected)
        assert int(found.swept.prices.step_ns[row]) == int(np.ravel(prices.step_ns)[0])


def estimates(plan: Plan) -> tuple[Estimate, ...]:
    return (plan.estimate, *plan.runners_up)


def decisions(layout: Layout) -> dict[str, int]:
    return {each: getattr(layout, each) for each in ORDER}


@every_example
def test_a_step_is_the_sum_of_its_parts(name: str) -> None:
    for plan in compiled(name).plans:
        for estimate in estimates(plan):
            assert sum(estimate.time.values()) == pytest.approx(estimate.step_seconds, rel=1e-9)
            assert min(estimate.time.values()) > 0
            assert estimate.bubble == pytest.approx(
                estimate.time.get("bubble", 0.0) / estimate.step_seconds, abs=1e-4
            )


@every_example
def test_memory_stays_below_the_ceiling(name: str) -> None:
    for plan in compiled(name).plans:
        for estimate in estimates(plan):
            assert estimate.memory_bytes == max(stage.memory_bytes for stage in estimate.stages)
            assert 0 < estimate.memory_bytes <= estimate.ceiling_bytes <= estimate.capacity_bytes
            assert all(min(stage.memory.values()) >= 0 for stage in estimate.stages)


@every_example
def test_a_layout_uses_every_gpu_and_sequence(name: str) -> None:
    for plan in compiled(name).plans:
        for estimate in estimates(plan):
            layout, job = estimate.layout, plan.job
            assert layout.gpus == layout.nodes * job.cluster.gpus_per_node
            sequences = layout.micro_batch * layout.microbatches * layout.dp
            assert sequences == job.train.global_batch
            assert sum(sum(stage.layers) for stage in estimate.stages) == job.model.layers


@every_example
def test_quantities_agree(name: str) -> None:
    for plan in compiled(name).plans:
        job, estimate = plan.job, plan.estimate
        tokens = job.train.global_batch * job.train.seq_len
        gpus = estimate.layout.gpus
        assert estimate.tokens_per_second == pytest.approx(tokens / estimate.step_seconds)
        assert estimate.tokens_per_second_per_gpu * gpus == pytest.approx(
            estimate.tokens_per_second
        )
        reached = estimate.tflops_per_gpu * 1e12
        flops = Case(job, BACKENDS[plan.target].target).model_flops
        assert reached * gpus * estimate.step_seconds == pytest.approx(flops)
        assert reached / job.peak_flops == pytest.approx(estimate.mfu)
        days = estimate.step_seconds * job.train.total_steps / 86400
        assert estimate.goodput is not None and estimate.goodput.share < 1
        days /= estimate.goodput.share
        assert estimate.days == pytest.approx(days)
        assert estimate.cost == pytest.approx(days * 86400 * gpus * job.cluster.price)
        assert estimate.hfu >= estimate.mfu
        assert estimate.mfu_full_attention > estimate.mfu


@every_example
def test_runners_up_are_other_layouts_and_no_better(name: str) -> None:
    for plan in compiled(name).plans:
        found = answered(name, plan.target)
        assert found.best is not None
        order, chosen = found.swept.by_objective, found.best
        assert len(plan.runners_up) == min(3, len(order) - 1)
        ranked = [
            {each: found.swept.decisions(int(row))[each] for each in ORDER} for row in order[:4]
        ]
        expected = [chosen, *[each for each in ranked if each != chosen][:3]]
        assert [decisions(estimate.layout) for estimate in estimates(plan)] == expected
        assert (plan.best is None) == (ranked[0] == chosen)
        if plan.best is not None:
            assert decisions(plan.best.layout) == ranked[0]


@every_example
def test_the_proof_speaks_of_the_plan(name: str) -> None:
    for plan in compiled(name).plans:
        proof = plan.proof
        found = answered(name, plan.target)
        whole = Space(found.case)
        assert proof.status == "OPTIMAL" and proof.ruled_out != whole.has_at_most(best_first.WHOLE)
        if not proof.ruled_out:
            assert proof.layouts == whole.size
        direction, quantity = proof.objective.split()
        assert quantity in ("mfu", "tokens_per_second") and direction == "maximize"
        assert proof.value == pytest.approx(proof.bound)
        swept = found.swept.values[quantity][int(found.swept.by_objective[0])]
        assert proof.value == pytest.approx(float(swept))
        assert getattr(plan.estimate, quantity) >= proof.value * (1 - plan.job.goal.within - 1e-9)
