"""Random small jobs: whatever the goal, solver and sweep agree, and no rule or condition is broken."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parc.compiler import plan
from parc.compiler.case import DEFAULT_RISK
from parc.compiler.plan import Plan
from parc.compiler.pricing.estimate import one_row
from parc.compiler.rules.validity import predicates
from parc.compiler.search.cp_sat_search import infeasible_core
from parc.compiler.search.sweep import runnable, satisfied
from parc.compiler.target import holds
from parc.dsl import JobError
from parc.dsl.expression import evaluate
from tests.support.solver_and_sweep import (
    DENSE,
    LATENT,
    MOE,
    TARGETS,
    Answers,
    answers,
    read,
    target_of,
    text_of,
)

DEGREES = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp", "dp_replicate", "dp_shard", "zero", "gpus")
COUNTS = ("micro_batch", "microbatches", "recompute_layers", "hpz", "nodes")
WORDS = (
    "recompute == none",
    "recompute in {selective, full}",
    "recompute != full",
    "schedule == 1f1b",
    "schedule == interleaved",
    "offload == none",
    "offload in {none, optimizer}",
)
#: Quantities with bounds around what small jobs reach.
BOUNDS = {
    "memory": ("2 GiB", "6 GiB", "10%", "50%", "tp * 3 GiB", "20 GiB / pp"),
    "mfu": ("5%", "20%", "30%", "tp / 20", "0"),
    "hfu": ("5%", "20%", "35%", "1 / pp"),
    "step_time": ("100 ms", "300 ms", "1 s", "0.1 s * pp", "0 s"),
    "tokens_per_second": ("100K tokens/s", "500K tokens/s", "dp * 50K tokens/s"),
    "days": ("0.001 d", "0.01 d", "nodes * 0.002 d"),
    "cost": ("1 $", "5 $", "nodes * 3 $"),
    "energy": ("1 kWh", "3 kWh", "nodes * 1 kWh"),
    "bubble": ("0", "2%", "10%", "1 / microbatches", "pp / 50"),
    "risk": ("0", "1%", "50%", "100%", "0.1 / pp"),
}
OBJECTIVES = (
    "maximize mfu",
    "maximize tokens_per_second",
    "minimize step_time",
    "minimize cost",
    "minimize energy",
    "minimize days",
    "minimize memory",
    "minimize bubble",
)


@st.composite
def atoms(draw: st.DrawFn) -> str:
    one, other = draw(st.sampled_from(DEGREES)), draw(st.sampled_from((*DEGREES, *COUNTS)))
    op, number = draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!="))), draw(st.integers(0, 9))
    quantity = draw(st.sampled_from(tuple(BOUNDS)))
    bound = draw(st.sampled_from(BOUNDS[quantity]))
    side = draw(st.sampled_from(("<", "<=", ">", ">=")))
    forms = (
        f"{other} {op} {2 ** (number // 2)}",
        f"{other} in {{1, 2, {number}}}",
        f"{other} not in 2..{number + 2}",
        f"{one} * {other} {op} {number}",
        f"max({one}, {other}) {op} min({number}, {one} + 2)",
        f"{one} % {number + 1} == 0",
        f"ceil({one} / {number + 1}) {op} log2({other})",
        draw(st.sampled_from(WORDS)),
        f"{quantity} {side} {bound}",
        f"{bound} {side} {quantity}",
    )
    return draw(st.sampled_from(forms))


@st.composite
def conditions(draw: st.DrawFn) -> str:
    first, second = draw(atoms()), draw(atoms())
    shape = draw(st.sampled_from(("{0}", "{0}", "not {0}", "{0} or {1}", "{0} and {1}")))
    return shape.format(f"({first})", f"({second})")


@st.composite
def goals(draw: st.DrawFn) -> str:
    clauses = draw(st.lists(st.sampled_from(OBJECTIVES), max_size=2, unique=True))
    kinds = st.sampled_from(("require", "forbid", "prefer"))
    for condition in draw(st.lists(conditions(), max_size=2)):
        clauses.append(f"{draw(kinds)} {condition}")
    if draw(st.booleans()):
        clauses.append(f"within = {draw(st.sampled_from(('0%', '0.5%', '5%', '20%')))}")
    return "\n".join(clauses)


@st.composite
def jobs(draw: st.DrawFn) -> str:
    model = dict(draw(st.sampled_from((DENSE, DENSE, MOE, LATENT))))
    model["layers"] = draw(st.integers(2, 13))
    heads = draw(st.sampled_from((6, 8, 12, 16)))
    model |= {"heads": heads, "hidden": 64 * heads * draw(st.sampled_from((1, 2, 3)))}
    if "kv_heads" in model:
        model["kv_heads"] = draw(st.sampled_from((1, heads // 2, heads)))
    nodes = draw(st.sampled_from(("1", "2", "3", "1..3", "2..4")))
    cluster = {"nodes": nodes, "gpus_per_node": draw(st.sampled_from((1, 2, 6, 8)))}
    if draw(st.booleans()):
        cluster["price"] = "2 $/h"
    train = {
        "seq_len": draw(st.sampled_from((512, 1000, 2048, 2048))),
        "global_batch": draw(st.sampled_from((6, 16, 48, 64))),
        "steps": 1000,
        "attention": draw(st.sampled_from(("flash", "flash", "unfused"))),
    }
    return text_of(
        draw(goals()),
        target=draw(st.sampled_from(TARGETS)),
        model=model,
        memory=draw(st.sampled_from(("4 GiB", "12 GiB", "80 GiB", "80 GiB"))),
        cluster=cluster,
        train=train,
    )


def check_plan(chosen: Plan, found: Answers) -> None:
    """Rules and conditions hold, nothing is better, and the plan is what was proven."""
    assert found.solution is not None and found.solution.status == "OPTIMAL"
    assert found.layout == found.best
    job = found.case.job
    columns = one_row(found.case, found.layout)
    assert all(np.all(holds(rule, job, columns)) for rule in predicates(found.case.target))
    row = int(found.swept.order[0])
    values = {name: np.ravel(column)[row] for name, column in found.swept.values.items()}
    for constraint in job.goal.constraints:
        met = bool(evaluate(constraint.expression, values))
        assert met == (constraint.kind == "require") or constraint.kind == "prefer"
    assert {name: getattr(chosen.layout, name) for name in found.layout} == found.layout
    assert chosen.estimate.memory_bytes <= chosen.estimate.ceiling_bytes
    assert chosen.estimate.step_seconds * 1e9 <= found.swept.prices.step_ns[row] + 1


def check_clash(found: Answers) -> None:
    """No layout meets the named conditions, and without any one of them some layout does."""
    assert found.solution is None
    assert found.best is None
    named = infeasible_core(found.space).constraints
    hard = [each for each in found.case.job.goal.constraints if each.kind != "prefer"]
    assert named and set(named) <= set(hard)
    mask = runnable(found.case, found.swept.prices)
    admitted = {
        each: np.broadcast_to(satisfied(each, found.swept.values), mask.shape) for each in hard
    }
    assert not np.logical_and.reduce([mask, *(admitted[each] for each in named)]).any()
    for dropped in named:
        kept = [admitted[each] for each in named if each is not dropped]
        assert np.logical_and.reduce([mask, *kept]).any()


def check_risky(found: Answers) -> None:
    """Layouts meet the goal, and each runs out of memory with more than the default's probability."""
    assert found.solution is None and found.best is None
    given = [each for each in found.case.job.goal.constraints if each.kind != "prefer"]
    met = [satisfied(each, found.swept.values) for each in given]
    mask = np.logical_and.reduce([runnable(found.case, found.swept.prices), *met])
    assert mask.any() and found.swept.values["risk"][mask].min() > DEFAULT_RISK


@settings(
    max_examples=120, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(jobs())
def test_solver_and_sweep_agree_on_random_jobs(text: str) -> None:
    job = read(text)
    target = target_of(job)
    try:
        chosen = plan(job, target)
    except JobError as error:
        assert all(found.code and found.message for found in error.diagnostics)
        codes = {found.code for found in error.diagnostics}
        if codes == {"PAR150"}:
            assert not answers(job).space.size
        elif codes == {"PAR151"}:
            check_clash(answers(job))
        elif codes == {"PAR155"}:
            check_risky(answers(job))
        elif codes == {"PAR511"}:
            assert answers(job).best is None
        else:
            assert codes == {found.code for found in target.refuses(job)}
        return
    check_plan(chosen, answers(job))


@pytest.mark.parametrize("model", [DENSE, MOE], ids=["dense", "experts"])
@pytest.mark.parametrize("memory", ["4 GiB", "80 GiB"])
def test_they_agree_where_some_layouts_are_cuda_graphs(
    model: Mapping[str, object], memory: str
) -> None:
    text = text_of("maximize mfu", target="torchtitan", model=model, memory=memory)
    job = read(text.replace("torchtitan {}", 'torchtitan { version = "0.3" }'))
    check_plan(plan(job, target_of(job)), answers(job))
