"""Random small jobs: whatever the goal, solver and sweep agree, and no rule or condition is broken."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from parc.compiler import plan
from parc.compiler.headroom import DEFAULT_RISK
from parc.compiler.plan import Plan
from parc.compiler.pricing.estimate import one_row
from parc.compiler.rules.validity import predicates
from parc.compiler.search.cp_sat_search import infeasible_core
from parc.compiler.search.sweep import runnable, satisfied
from parc.compiler.target import holds
from parc.dsl import JobError
from parc.dsl.expression import evaluate
from tests.support.generated_jobs import jobs
from tests.support.solver_and_sweep import (
    DENSE,
    MOE,
    Answers,
    answers,
    read,
    target_of,
    text_of,
)

#: Drawn jobs; PARC_NEVER_BEATS=all draws more.
JOBS = 240 if os.environ.get("PARC_NEVER_BEATS") == "all" else 30


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


@settings(max_examples=JOBS, suppress_health_check=list(HealthCheck))
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
