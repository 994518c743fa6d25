"""A priced layout -> what each exchange of context parallelism would take in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..case import Case
from ..plan import Estimate
from ..pricing.estimate import decisions, estimate_layout
from ..rules.context_heads import possible


@dataclass(frozen=True)
class Exchanged:
    """A way of `cp_comm`, and the seconds of a step with it; None where it does not divide the heads."""

    way: str
    seconds: float | None


def exchanges(case: Case, estimate: Estimate) -> tuple[Exchanged, ...]:
    """Every way that the target has for the job, in its order; none without context parallelism."""
    ways, layout = case.traits.wire.contexts, estimate.layout
    if layout.cp == 1 or len(ways) == 1:
        return ()
    tp, cp = np.array([layout.tp]), np.array([layout.cp])
    found = []
    for way in ways:
        seconds = None
        if possible(case.job, way, tp, cp).all():
            traits = case.traits.replaced(contexts=(way,))
            alone = replace(case.target, traits=traits, stack=lambda job: {})
            row = decisions(case, estimate)
            seconds = estimate_layout(Case(case.job, alone), row).step_seconds
        found.append(Exchanged(way, seconds))
    return tuple(found)
