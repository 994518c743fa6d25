"""A plan is as far from what is proven as docs/cost-model/pipeline.md says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from parc.compiler import plan
from parc.compiler.plan import Plan
from parc.compiler.search.sweep import ROOM
from parc.dsl.diagnostics import JobError
from tests.support.drawn_jobs import readable_job
from tests.support.solver_and_sweep import target_of

#: A quantity of a goal -> the number of an estimate that it is, and its unit in those of the proof (seconds).
NUMBERS = {
    "step_time": ("step_seconds", 1),
    "mfu": ("mfu", 1),
    "cost": ("cost", 1),
    "days": ("days", 86_400),
}
#: The solver's integers and the numbers of an estimate.
ROUNDING = 1e-8
JOBS, SEEDS = 8, (64, *range(1700, 1730))


def plans() -> Iterator[tuple[Plan, Plan]]:
    """Of drawn jobs whose goal is such a number, and that have a plan: it, and that with `within = 0%`."""
    for seed in SEEDS:
        drawn = readable_job(seed)
        jobs = (drawn.job(), drawn.exact().job())
        with suppress(JobError):
            found, exact = (plan(job, target_of(job)) for job in jobs)
            if found.proof.objective.split()[1] in NUMBERS:
                yield found, exact


def forgone(found: Plan) -> float:
    """By what share the chosen layout is worse than what is proven."""
    direction, quantity = found.proof.objective.split()
    assert found.proof.value is not None
    name, unit = NUMBERS[quantity]
    share: float = getattr(found.estimate, name) * unit / found.proof.value
    return 1 - share if direction == "maximize" else share - 1


def test_a_plan_is_no_further_from_its_proof() -> None:
    judged = list(islice(plans(), JOBS))
    assert len(judged) == JOBS
    for found, exact in judged:
        most = (1 + found.job.goal.within) * (1 + ROOM) - 1
        assert -ROUNDING <= forgone(found) <= most + ROUNDING, found.job.name
        assert abs(forgone(exact)) <= ROUNDING, found.job.name
    assert any(forgone(found) > ROUNDING for found, _ in judged), "none forgoes anything"
