"""A plan and an estimate of one job -> whether the estimate meets the goal and is better, by its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parc.compiler.case import Case
from parc.compiler.plan import Estimate, Plan
from parc.compiler.pricing.estimate import decisions, estimate_layout, one_row
from parc.compiler.pricing.quantities import price
from parc.compiler.search.estimating import estimate
from parc.compiler.search.sweep import host_capacity_kib, objectives, satisfied
from parc.compiler.variables import PLACE
from parc.dsl import JobError
from parc.dsl.expression import COUNTED

#: By what share an objective must be better to count: sums are whole nanoseconds and KiB.
TOLERANCE = 1e-6
#: Codes of a job for which the search finds no layout.
NO_LAYOUT = {"PAR150", "PAR151", "PAR155", "PAR511"}
#: What a step or a run takes, by quantity of a goal.
FIELDS = {
    "memory": "memory_bytes",
    "step_time": "step_seconds",
    "energy": "energy_joules",
    "risk": "out_of_memory",
}


def quantities_of(case: Case, found: Estimate) -> dict[str, float]:
    """Every variable and quantity that a goal may name, as the estimate says it."""
    columns = one_row(case, decisions(case, found))
    values = {name: float(np.ravel(column)[0]) for name, column in columns.items()}
    named = ("mfu", "hfu", "tokens_per_second", "cost", "bubble")
    values |= {name: getattr(found, name) for name in named}
    values |= {name: getattr(found, field) for name, field in FIELDS.items()}
    return values | {"days": found.days * 86400}


def admissible(case: Case, found: Estimate) -> bool:
    """Whether an estimate fits into the memory of GPU and host, and meets every hard condition."""
    values = quantities_of(case, found)
    met = all(bool(satisfied(each, values)) for each in case.hard)
    return met and found.memory_bytes <= found.capacity_bytes and fits_host(case, found)


def fits_host(case: Case, found: Estimate) -> bool:
    columns = one_row(case, decisions(case, found))
    return bool(price(case, columns).host_kib[0] <= host_capacity_kib(case))


def losses(case: Case, found: Estimate) -> tuple[float, ...]:
    """The first objective as a number to minimise; of one that counts nodes, the time of a step after it."""
    objective = objectives(case)[0]
    value = quantities_of(case, found)[objective.quantity]
    signed = -value if objective.direction == "maximize" else value
    return (signed, found.step_seconds) if objective.quantity in COUNTED else (signed,)


def gain(case: Case, found: Estimate, over: Estimate) -> float:
    """By what share of its objective an estimate is better than another; below 0 where it is worse."""
    for one, other in zip(losses(case, found), losses(case, over), strict=True):
        if one != other:
            return (other - one) / (abs(other) or 1.0)
    return 0.0


def stated_best(case: Case, plan: Plan) -> Estimate:
    """The best that a plan names: its choice, or the layout that it forgoes for a simpler one."""
    both = [plan.estimate] + ([plan.best] if plan.best else [])
    return min(both, key=lambda each: losses(case, each))


def priced(case: Case, layout: Mapping[str, int]) -> Estimate | None:
    """The price of a layout as `parc estimate` gives it, where it is legal and meets the goal."""
    try:
        found = estimate(case.job, case.target, layout)
    except JobError:
        return None
    return found if admissible(case, found) else None


def quickly_priced(case: Case, decided: Mapping[str, int]) -> Estimate | None:
    """The best price of a legal layout that gives every decision, of all placements that meet the goal."""
    places = range(case.placements.count(decided["pp"], decided["vpp"]))
    found = (estimate_layout(case, {**decided, PLACE: place}) for place in places)
    met = [each for each in found if admissible(case, each)]
    return min(met, key=lambda each: losses(case, each), default=None)
