"""Statements of an explanation are proven by solving again, with the goal or the figures changed as they say.

`PARC_EXPLAIN=all` checks those about every example and 50 drawn jobs, in ten parts; else a sample is checked.
Of a job that is solved slowly they are drawn, by `PARC_EXPLAIN_SEED`, as long as SECONDS last; what was
checked is printed. DeepSeek-V3 takes eight seconds to solve; it has 71 alternatives, and 13 thresholds of
four solves each.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, assume, given, seed, settings

from parc.backends import BACKENDS
from parc.compiler import plan
from parc.compiler.case import Case
from parc.compiler.explain.answers import Best, condition
from parc.compiler.explain.conditions import Binding
from parc.compiler.explain.explaining import Explanation, explain
from parc.compiler.explain.sensitivity import Threshold
from parc.compiler.plan import Plan
from parc.compiler.pricing.mechanisms import MECHANISMS, slowed
from parc.compiler.target import Target
from parc.compiler.variables import ORDER
from parc.dsl import JobError
from parc.dsl.expression import Call, Name
from parc.dsl.job import Constraint, Goal, Job
from tests.support.compiled_examples import EXAMPLES
from tests.support.generated_jobs import jobs
from tests.support.solver_and_sweep import example, read, target_of

WHOLE = os.environ.get("PARC_EXPLAIN") == "all"
SEED = os.environ.get("PARC_EXPLAIN_SEED", "1")
#: Statements of each kind that are checked of one explanation, and drawn jobs.
SAMPLE = 10**6 if WHOLE else 2
#: Until no further statement of a kind is checked of one explanation, but for the LEAST first ones.
SECONDS, LEAST = 30, 3
PARTS, DRAWN = (10, 5) if WHOLE else (1, 3)
Claim = TypeVar("Claim")
CASES = [
    (name, spec.name)
    for name in (EXAMPLES if WHOLE else ("gpt_125m",))
    for spec in example(name).targets
]


def sampled(claims: Sequence[Claim], kind: str) -> Iterator[Claim]:
    """Those to check, drawn in any order; how many they were is printed after the last one."""
    draw = random.Random(f"{SEED} {kind} {len(claims)}")
    begun, checked = time.monotonic(), 0
    for claim in draw.sample(claims, min(SAMPLE, len(claims))):
        if checked >= LEAST and time.monotonic() - begun > SECONDS:
            break
        yield claim
        checked += 1
    print(f"{checked} of {len(claims)} {kind} checked, seed {SEED}")


def with_goal(job: Job, constraints: Iterable[Constraint]) -> Job:
    goal = job.goal
    return job.model_copy(update={"goal": Goal(goal.objectives, tuple(constraints), goal.within)})


def solved(job: Job, target: Target) -> Plan | None:
    """The proven plan; None where no layout satisfies the goal."""
    try:
        found = plan(job, target)
    except JobError:
        return None
    assert found.proof.status == "OPTIMAL"
    return found


def check_value(job: Job, target: Target, claimed: Best | None, what: str) -> None:
    found = solved(job, target)
    assert (found is None) == (claimed is None), what
    if found is not None and claimed is not None:
        assert found.proof.value == pytest.approx(claimed.value, rel=1e-9), what


def conditions(job: Job, target: Target) -> tuple[Constraint, ...]:
    return Case(job, target).conditions


def check_what_ifs(job: Job, target: Target, found: Explanation) -> None:
    for each in sampled(found.alternatives, "alternatives"):
        only = condition(each.decision, "==", each.value)
        again = with_goal(job, [*conditions(job, target), only])
        check_value(again, target, each.best, f"{each.decision} {each.value}: {each.why}")


def check_bindings(job: Job, target: Target, found: Explanation) -> None:
    hard = {f"{each.kind} {each.text}": each for each in Case(job, target).hard}
    for each in sampled(found.bindings, "bindings"):
        if each.text in hard:
            check_condition(job, target, found, each, hard[each.text])


def check_condition(
    job: Job, target: Target, found: Explanation, binding: Binding, dropped: Constraint
) -> None:
    """Without it the claimed layout is the best, at the step's limit the step's, just before the old one."""
    given = conditions(job, target)

    def again(*instead: Constraint) -> Job:
        kept = [each for each in given if each is not dropped]
        # Where nothing is said of memory, a default is added.
        return with_goal(job, [*kept, *instead, condition("risk", "<=", 1.0)])

    check_value(again(), target, binding.best, f"without {binding.text}")
    if binding.step is not None:
        name, limit = binding.step.name, binding.step.limit
        upper = limit_is_upper(dropped)
        operator, nearer = ("<=", 1 - 1e-9) if upper else (">=", 1 + 1e-9)
        check_value(
            again(condition(name, operator, limit)), target, binding.step.best, binding.text
        )
        just_before = again(condition(name, operator, limit * nearer))
        check_value(just_before, target, found.best, f"just before {binding.text}")


def limit_is_upper(constraint: Constraint) -> bool:
    """Decided anew: whether a smaller value satisfies a constraint that a larger one breaks."""
    expression = constraint.expression
    assert isinstance(expression, Call)
    left_is_name = isinstance(expression.args[0], Name)
    return (expression.op in ("<", "<=")) == (left_is_name == (constraint.kind != "forbid"))


def check_thresholds(job: Job, target: Target, found: Explanation) -> None:
    timed = [each for each in found.thresholds if not each.error.overlap]
    overlap = [each for each in found.thresholds if each.error.overlap]
    for each in (*sampled(timed, "thresholds"), *overlap):
        if each.value is None:
            assert stands(job, target, found, each, each.farthest), each
        else:
            assert not stands(job, target, found, each, each.value), each
            assert stands(job, target, found, each, each.before), each


def stands(
    job: Job, target: Target, found: Explanation, threshold: Threshold, value: float
) -> bool:
    """Whether the chosen layout is as good as the best, solved again with a mechanism so much slower, or with
    so much more of what overlaps exposed.

    On a cluster without a price nothing costs anything; with any price the same layouts are the cheapest.
    """
    lost = job.cluster.overlap_lost
    changed = {"price": job.cluster.price or 1e-9}
    if threshold.error.overlap:
        changed["overlap_lost"] = 1 - (1 - lost) * (1 - value)
    job = job.model_copy(update={"cluster": job.cluster.model_copy(update=changed)})
    factors = [value if each.name == threshold.error.parameter else 1.0 for each in MECHANISMS]
    case = slowed(Case(job, target), factors)
    best = solved(case.job, case.target)
    chosen = found.plan.layout.model_dump()
    exactly = [condition(name, "==", chosen[name]) for name in ORDER]
    ours = solved(with_goal(case.job, [*case.conditions, *exactly]), case.target)
    if ours is None or best is None:
        return False
    values = sorted([ours.proof.value, best.proof.value])
    return values[1] - values[0] <= share_of(case, job.goal.within) * values[0]


def share_of(case: Case, within: float) -> float:
    """What `within` of the minimised integer is of the quantity: the same, up to rounding of nanoseconds."""
    return within + 1e-7


def check(job: Job, target: Target) -> None:
    found = explain(plan(job, target), target)
    check_what_ifs(job, target, found)
    check_bindings(job, target, found)
    check_thresholds(job, target, found)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_statements_about_examples(name: str, target: str) -> None:
    check(example(name), BACKENDS[target].target)


@pytest.mark.parametrize("part", range(PARTS))
def test_statements_about_drawn_jobs(part: int) -> None:
    @seed(part)
    @settings(max_examples=DRAWN, suppress_health_check=list(HealthCheck))
    @given(jobs())
    def one(text: str) -> None:
        job = read(text)
        assume(solved(job, target_of(job)) is not None)
        check(job, target_of(job))

    one()
