"""A plan and a layout that somebody gives -> what differs, and which conditions of the goal it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..case import Case
from ..plan import Measured, Plan
from ..pricing.estimate import decisions
from ..search.estimating import estimate
from ..search.layout_text import quantity_text
from ..search.measured_layouts import outcome
from ..search.space import Space
from ..search.sweep import satisfied, sweep
from ..target import Target
from .answers import quantity_of
from .difference import Difference, difference


@dataclass(frozen=True)
class Against:
    """A given layout beside the plan's. `breaks` says in words what keeps it from being chosen: limits of
    memory, then conditions of the goal. `measured` is what runs on the cluster tell of the given layout.
    """

    difference: Difference
    breaks: tuple[str, ...]
    measured: Measured | None


def against(plan: Plan, target: Target, layout: Mapping[str, int]) -> Against:
    """`layout` gives variables as `parc estimate` takes them. Raises JobError where that does."""
    there = estimate(plan.job, target, layout)
    case = Case(plan.job, target)
    return Against(
        difference=difference(plan.estimate, there, quantity_of(case)),
        breaks=tuple(_broken(case, decisions(case, there))),
        measured=outcome(case, there.layout.model_dump()),
    )


def _broken(case: Case, layout: Mapping[str, int]) -> list[str]:
    swept = sweep(Space(case, layout))
    needed, found = int(swept.prices.memory_kib[0]) * 1024, case.gpu.memory
    lines = []
    if needed > found:
        lines.append(
            f"{quantity_text('memory', needed)} does not fit into {quantity_text('memory', found)}"
        )
    for each in case.hard:
        if not np.broadcast_to(satisfied(each, swept.values), swept.feasible.shape)[0]:
            lines.append(f"`{each.kind} {each.text}`")
    return lines
