"""The chosen layout and those that the closed forms hold as good -> the one that simulated passes prefer.

The search, its proof and every price are of closed forms, which take stages as even and each message as
exposed on every rank. The last word between layouts within `goal.within` has the simulator, as it has no such
limits (`compiler/schedule/`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...dsl.expression import COUNTED
from ..case import Case
from ..plan import Estimate, Simulated
from ..pricing.estimate import estimate_layout
from ..schedule.timeline import simulated_seconds
from .complete_layout import roomiest
from .simplicity import UNMET
from .sweep import PER_STEP, Swept, objectives, score, slack

#: Layouts that are simulated beside the chosen one: the best predictions.
FINALISTS = 5
#: The share by which the chosen step is at least longer than its closed form before others are simulated.
FLATTERED = 0.002
Decided = dict[str, int]


class Finalist(NamedTuple):
    """A layout with its layers placed, and the simulated seconds of its step: those of the closed form
    without a pipeline, None where its passes are too many."""

    decided: Decided
    estimate: Estimate
    seconds: float | None


def judged(swept: Swept, chosen: Decided) -> tuple[Finalist, Simulated | None]:
    """The layout to choose, and what its step takes when it is simulated; None without a pipeline, and where
    the passes are too many.

    Where the chosen step takes longer than closed forms say, it is the simplest of those within `goal.within`
    of the fastest simulated one, on as many GPUs and with as few unmet preferences: `chosen` itself if it can
    be. Elsewhere, and where its own passes are too many, `chosen` stays.
    """
    case = swept.space.case
    own = _finalist(case, chosen)
    if own.seconds is None or own.seconds <= (1 + FLATTERED) * own.estimate.step_seconds:
        return own, _told(own, own)
    others = (_finalist(case, each) for each in _others(swept, chosen))
    rivals = [each for each in others if each.seconds]
    rivals = [each for each in rivals if each.estimate.gpus == own.estimate.gpus]
    least = min(each.seconds for each in (own, *rivals) if each.seconds)
    most = least * (1 + case.job.goal.within)
    for each in (own, *rivals):
        if each.seconds and each.seconds <= most:
            return each, _told(each, own)
    raise AssertionError("the fastest is one of them")


def _told(taken: Finalist, own: Finalist) -> Simulated | None:
    if taken is not own and taken.seconds and own.seconds:
        instead = own.estimate.layout
        return Simulated(step_seconds=taken.seconds, instead=instead, instead_seconds=own.seconds)
    return Simulated(step_seconds=own.seconds) if own.seconds and own.decided["pp"] > 1 else None


def _finalist(case: Case, decided: Decided) -> Finalist:
    decided = roomiest(case, decided)
    estimate = estimate_layout(case, decided)
    return Finalist(decided, estimate, simulated_seconds(case, estimate))


def _others(swept: Swept, chosen: Decided) -> Iterator[Decided]:
    """The best predictions that are as good as `chosen` to the goal, the simplest first."""
    case = swept.space.case
    objective = objectives(case)[0]
    if objective.quantity not in (*PER_STEP, *COUNTED):
        return
    ranked = swept.by_objective
    first = score(objective, swept)[ranked]
    near = ranked[first <= first[0] + slack(case, int(first[0]))]
    unmet = swept.effort(near) // UNMET
    best = near[unmet == unmet.min()]
    others = [row for row in best[: FINALISTS + 1] if swept.decisions(int(row)) != chosen]
    kept = np.array(others[:FINALISTS], dtype=int)
    for row in kept[np.argsort(swept.effort(kept), kind="stable")]:
        yield swept.decisions(int(row))
