"""Plans of one job on several targets -> the better ones first: the order of every output.

The goal's objectives decide in turn, then the time of a step, then the order of the targets in the job. Two
values that agree in every digit of `plan.json` are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import TYPE_CHECKING

from parc.backends import PLANNED

from .printing.words.numbers import significant

if TYPE_CHECKING:
    from parc.compiler.plan import Estimate, Plan
    from parc.dsl.job import Job

#: Quantities of a goal that an `Estimate` has under another name.
FIELDS = {
    "memory": "memory_bytes",
    "risk": "out_of_memory",
    "step_time": "step_seconds",
    "energy": "energy_joules",
}
#: Objectives of a goal that names none.
USUAL = (("maximize", "mfu"),)
FASTER = ("minimize", "step_time")


def ranked(plans: Iterable[Plan]) -> tuple[Plan, ...]:
    """The better plans first, those of targets without a framework last, for nothing runs them; equal ones
    stay in the order given, which is that of the job's targets."""
    return tuple(sorted(plans, key=lambda plan: (plan.target in PLANNED, *_key(plan))))


def objectives(job: Job) -> tuple[tuple[str, str], ...]:
    """Direction and quantity of each objective of a job's goal, in order."""
    return tuple((each.direction, each.quantity) for each in job.goal.objectives) or USUAL


def value(estimate: Estimate, quantity: str) -> float:
    """A quantity of a goal as an estimate has it."""
    return float(getattr(estimate, FIELDS.get(quantity, quantity)))


def deciding(better: Plan, other: Plan) -> str:
    """The first quantity in which two plans of a job differ, of those that rank them; the time of a step
    where they differ in none."""
    for (_, quantity), ours, theirs in zip(
        _criteria(better.job), _key(better), _key(other), strict=True
    ):
        if ours != theirs:
            return quantity
    return FASTER[1]


def may_change_places(better: Plan, other: Plan) -> bool:
    """Whether the bands of two plans overlap in the quantity that ranks them. A count of GPUs and memory have
    none, and say which plan is better whatever a step takes."""
    from parc.compiler.risk import FOUR_OF_FIVE
    from parc.compiler.search.sweep import PER_STEP

    quantity = deciding(better, other)
    ours, theirs = (value(each.estimate, quantity) for each in (better, other))
    if quantity not in PER_STEP or not ours or not theirs:
        return False
    spread = better.estimate.step_spread + other.estimate.step_spread
    return abs(log(theirs / ours)) <= FOUR_OF_FIVE * spread


def _criteria(job: Job) -> Iterator[tuple[str, str]]:
    yield from objectives(job)
    yield FASTER


def _key(plan: Plan) -> tuple[float, ...]:
    """Less is better, place by place."""
    return tuple(
        (-1 if direction == "maximize" else 1) * significant(value(plan.estimate, quantity))
        for direction, quantity in _criteria(plan.job)
    )
