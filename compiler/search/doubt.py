"""A priced space and the layout that was chosen -> how sure it is that it is the best.

The best predictions contend. In each draw every mechanism (pricing/mechanisms.py) is off by the same factor
for all of them, so that what moves all layouts alike cancels and what differs between them counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..algebra import Integers
from ..plan import Doubt, Layout, Rival
from ..pricing.mechanisms import LAYOUT, RUN, SPREADS, WAYS, Floats, drawn_errors, shares
from ..variables import ORDER
from .measured_layouts import corrections, ran
from .sweep import PER_STEP, Swept, objectives

#: Layouts that may be the best: those of the best predictions.
CONTENDERS = 128
#: Draws of all errors; a chance of 10 % is known to within 1.3 %.
DRAWS = 500
#: Other ways of splitting that are named at most, and the least probability of one.
RIVALS, LEAST = 3, 0.05


def doubt(swept: Swept, chosen: Mapping[str, int]) -> Doubt | None:
    """How sure the choice is; None where the first objective does not follow from the time of a step, as a
    cost does not without a price."""
    case = swept.space.case
    objective = objectives(case)[0]
    rows = contenders(swept, chosen)
    if objective.quantity not in PER_STEP or not swept.values[objective.quantity][rows].all():
        return None
    columns = {name: column[rows] for name, column in swept.space.layouts.items()}
    value: Floats = np.log(swept.values[objective.quantity][rows])
    moved = corrections(swept, rows)
    cost = (value if objective.direction == "minimize" else -value) + moved
    found, own = shares(case, columns), np.where(ran(swept, rows), RUN, LAYOUT)
    chances, regret = outcome(cost, found, 0, own)
    spreads = spreads_between(found, own)
    splits, split = np.unique([columns[name] for name in WAYS], axis=1, return_inverse=True)
    of_split = np.bincount(np.ravel(split), chances).astype(float)
    return Doubt(
        chance=float(chances[0]),
        chance_of_split=float(of_split[np.ravel(split)[0]]),
        regret=regret,
        contenders=len(rows),
        rivals=tuple(
            Rival(
                layout=_layout(swept, int(rows[row])),
                chance=chance,
                worse=worse,
                spread=float(spreads[row]),
            )
            for row, chance, worse in _rivals(np.ravel(split), of_split, cost)
        ),
    )


def outcome(
    cost: Floats, found: Floats, chosen: int, own: Floats | float = LAYOUT
) -> tuple[Floats, float]:
    """For layouts with so much ln(predicted cost) and the mechanisms' `shares`: the probability of each to be
    the best, and the share by which the one at the place `chosen` is expected to cost more than the best.
    `own` is the deviation of what each costs beyond the mechanisms.
    """
    true = cost + drawn_errors(found, DRAWS, own)
    best = np.argmin(true, axis=1)
    chances = np.bincount(best, minlength=len(cost)) / DRAWS
    return chances, float(np.mean(np.expm1(true[:, chosen] - true.min(axis=1))))


def spreads_between(found: Floats, own: Floats) -> Floats:
    """For each layout, whose mechanisms' `shares` are a column of `found` and whose deviation beyond them is
    its `own`: the deviation of ln(true / predicted cost) from that of the first one."""
    apart = SPREADS[:, None] * (found - found[:, :1])
    return np.asarray(np.sqrt((apart**2).sum(axis=0) + own**2 + own[0] ** 2))


def contenders(swept: Swept, chosen: Mapping[str, int]) -> Integers:
    """The row of the chosen layout, then those of the best other predictions that may be better."""
    rows = swept.by_objective
    same = np.ones(len(rows), dtype=bool)
    for name in ORDER:
        same &= swept.space.layouts[name][rows] == chosen[name]
    return np.concatenate([rows[same], rows[~same]])[:CONTENDERS]


def _layout(swept: Swept, row: int) -> Layout:
    values = swept.layout(row)
    return Layout(**{name: values[name] for name in Layout.model_fields})


def _rivals(split: Integers, of_split: Floats, cost: Floats) -> Iterator[tuple[int, float, float]]:
    """For each other way of splitting that may be the best, the most probable first: its best predicted
    layout, the probability that one of its layouts is the best, and by what share its prediction is worse.
    """
    other = np.where(np.arange(len(of_split)) == split[0], 0.0, of_split)
    for number in np.argsort(-other, kind="stable")[:RIVALS]:
        if other[number] >= LEAST:
            members = np.flatnonzero(split == number)
            row = int(members[np.argmin(cost[members])])
            yield row, float(other[number]), float(np.expm1(cost[row] - cost[0]))
