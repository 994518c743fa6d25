"""A priced space and its plan -> how far each uncertain figure may be off before the choice falls.

The choice stands while it satisfies the goal and its first objective is within `goal.within` of the best, as
in `search/sweep.py:Swept.order`. A mechanism (pricing/mechanisms.py) takes a factor as long in all layouts;
of overlapped traffic a share is exposed. A few layouts tell where the choice may fall first; all are then
priced just before, and what is too much better joins the few, until all agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np

from ..algebra import Arrays, Integers, Mask, Variants
from ..case import Case
from ..pricing.estimate import one_row
from ..pricing.mechanisms import MECHANISMS, NAMES, SPREADS, Floats, slowed
from ..pricing.quantities import Prices, price, quantities, times
from ..search.best_first import BestFirst
from ..search.columns import rows_of
from ..search.goal_constraints import Totals, minimised
from ..search.questions import Question
from ..search.space import Space
from ..search.sweep import PER_STEP, Swept, fits, objectives, runnable, satisfied, slack
from ..time.step import step_time
from ..variables import ORDER, PLACE

#: Deviations of an error up to which its effect is looked for: 99.7 % of a normal distribution are nearer.
FARTHEST = 3.0
#: Layouts of the best predictions that are asked first.
FEW = 64
#: Errors that are priced at once; each of ROUNDS divides the interval in which the choice falls by as many.
POINTS, ROUNDS = 16, 3

Columns = Mapping[str, Integers]
#: Nanoseconds of a step and of its bubble by error, rows, and layout, columns.
Times = tuple[Integers, Integers]


@dataclass(frozen=True)
class Error:
    """One way in which a parameter may be off: a mechanism by a factor on its time, `sign` 1 for longer and
    -1 for shorter; overlap by the share of overlapped traffic that is exposed."""

    parameter: str
    sign: float
    spread: float

    @property
    def overlap(self) -> bool:
        return self.parameter == "overlap"

    @property
    def farthest(self) -> float:
        """Deviations up to which it is asked for; no more than all traffic can be exposed."""
        return min(FARTHEST, 1 / self.spread) if self.overlap else FARTHEST

    def value(self, deviations: Floats) -> Floats:
        """The factor, or the share."""
        off = self.spread * deviations
        return off if self.overlap else np.exp(self.sign * off)

    def case(self, case: Case, value: float | Floats) -> Case:
        """The case in which the mechanism takes `value` times as long, or such a share more of the overlapped
        traffic is exposed; a column where `value` is one."""
        if self.overlap:
            kept = (1 - case.cluster.overlap_lost) * (1 - value)
            cluster = case.cluster.model_copy(update={"overlap_lost": 1 - kept})
            return Case(case.job.model_copy(update={"cluster": cluster}), case.target)
        factors = [value if each.name == self.parameter else 1.0 for each in MECHANISMS]
        return slowed(case, factors)


@dataclass(frozen=True)
class Threshold:
    """Where the choice falls: the error's factor or share `value`, its `deviations`, and by decisions a
    `layout` that is more than `goal.within` better there. All None where the choice stands at `farthest`, the
    factor or share at FARTHEST deviations. At `before`, just before, it stands among all layouts.
    """

    error: Error
    farthest: float
    before: float
    value: float | None = None
    deviations: float | None = None
    layout: Mapping[str, int] | None = None


def thresholds(swept: Swept, chosen: Mapping[str, int]) -> list[Threshold]:
    """The thresholds of each mechanism both ways, and of overlap. None where the first objective does not
    follow from time, or the choice falls as predicted: runs told otherwise."""
    case = swept.space.case
    if objectives(case)[0].quantity not in PER_STEP:
        return []
    few = Few.of(swept, chosen)
    if not few.stands(*_times(few.case, few.columns, _errors()[0], np.zeros(1)))[0]:
        return []
    asked = swept if swept.explored else _fitting(swept)
    return [_threshold(asked, few, each) for each in _errors()]


def _fitting(swept: Swept) -> Swept:
    """The layouts that fit into memory: no error of time lets in another one."""
    mask = np.broadcast_to(fits(swept.space.case, swept.prices), swept.feasible.shape)
    prices = Prices(*(getattr(swept.prices, each.name)[mask] for each in fields(Prices)))
    values = {
        name: np.broadcast_to(column, mask.shape)[mask] for name, column in swept.values.items()
    }
    space = replace(swept.space, blocks=rows_of(swept.space.layouts, mask))
    return Swept(space, prices, values, swept.feasible[mask])


def _errors() -> list[Error]:
    spreads = dict(zip(NAMES, SPREADS.tolist(), strict=True))
    both = [Error(each.name, sign, each.spread) for each in MECHANISMS for sign in (1.0, -1.0)]
    return [*both, Error("overlap", 1.0, spreads["overlap"])]


@dataclass(frozen=True)
class Few:
    """Some layouts with what errors do not change of their prices; the first `own` rows are the chosen one in
    each of its placements."""

    own: int
    case: Case
    one_size: bool
    columns: Columns
    nominal: Prices

    @classmethod
    def of(cls, swept: Swept, chosen: Mapping[str, int]) -> Few:
        case = swept.space.case
        rows = swept.by_objective[:FEW]
        best = {name: column[rows] for name, column in swept.space.layouts.items()}
        space = swept.explored.space if swept.explored else swept.space
        layout = one_row(case, chosen)
        layout.pop(PLACE)
        ours = Space(case).extend(layout, [PLACE])
        return cls._priced(len(ours[PLACE]), case, space.one_size, _joined(ours, best))

    @classmethod
    def _priced(cls, own: int, case: Case, one_size: bool, columns: Columns) -> Few:
        return cls(own, case, one_size, columns, price(case, columns))

    def with_one(self, columns: Columns) -> Few:
        return self._priced(self.own, self.case, self.one_size, _joined(self.columns, columns))

    def judged(self, step_ns: Integers, bubble_ns: Integers) -> tuple[Integers, Mask]:
        """The first objective as the integer that is minimised, and which layouts satisfy the goal."""
        prices = replace(self.nominal, step_ns=step_ns, bubble_ns=bubble_ns)
        return _judged(self.case, self.one_size, self.columns, prices)

    def stands(self, step_ns: Integers, bubble_ns: Integers) -> Mask:
        """By error, whether the chosen layout stands among them, in the placement that is then its best."""
        scores, feasible = self.judged(step_ns, bubble_ns)
        reached = np.where(feasible, scores, np.iinfo(np.int64).max)
        ours = reached[:, : self.own].min(axis=1)
        able = feasible[:, : self.own].any(axis=1)
        return np.asarray(able & (ours <= _tolerated(self.case, reached.min(axis=1))))


def _joined(some: Columns, others: Columns) -> dict[str, Integers]:
    return {name: np.concatenate([column, others[name]]) for name, column in some.items()}


def _judged(case: Case, one_size: bool, columns: Columns, prices: Prices) -> tuple[Integers, Mask]:
    values = {**columns, **quantities(case, columns, prices)}
    hard = [satisfied(constraint, values) for constraint in case.hard]
    feasible = reduce(np.logical_and, hard, runnable(case, prices))
    totals = Totals(prices.step_ns, prices.bubble_ns, prices.memory_kib)
    scores = minimised(Arrays(case, columns), totals, objectives(case)[0], one_size)
    shape = prices.step_ns.shape
    return np.broadcast_to(scores, shape), np.broadcast_to(feasible, shape)


def _tolerated(case: Case, least: Integers) -> Integers:
    """The largest first objective that is about as good as the least one."""
    return np.array([int(best) + slack(case, int(best)) for best in least])


def _times(case: Case, columns: Columns, error: Error, deviations: Floats) -> Times:
    value = error.value(deviations)[:, None]
    step_ns, bubble_ns = step_time(Variants(error.case(case, value), columns))
    shape = (len(value), len(columns["tp"]))
    return np.broadcast_to(step_ns, shape), np.broadcast_to(bubble_ns, shape)


def _threshold(swept: Swept, few: Few, error: Error) -> Threshold:
    farthest = float(error.value(np.array(error.farthest)))
    stands_at, falls_at = _first_fall(few, error, None)
    while (better := _better(swept, few, error, stands_at)) is not None:
        few = few.with_one(better)
        stands_at, falls_at = _first_fall(few, error, stands_at)
    if falls_at is None:
        return Threshold(error, farthest, farthest)
    before = float(error.value(np.array(stands_at)))
    at = np.array([falls_at])
    scores, feasible = few.judged(*_times(few.case, few.columns, error, at))
    best = int(np.argmin(np.where(feasible, scores, np.iinfo(np.int64).max)[0]))
    layout = {name: int(few.columns[name][best]) for name in ORDER} if feasible.any() else None
    return Threshold(error, farthest, before, float(error.value(at)[0]), falls_at, layout)


def _first_fall(few: Few, error: Error, high: float | None) -> tuple[float, float | None]:
    """Deviations at which the choice stands among the few, and just beyond, where it falls; `high` are some
    at which it is known to fall."""
    low = 0.0
    for _ in range(ROUNDS):
        points = np.linspace(low, error.farthest if high is None else high, POINTS + 1)[1:]
        falls = ~few.stands(*_times(few.case, few.columns, error, points))
        if high is None and not falls.any():
            return error.farthest, None
        first = int(np.argmax(falls)) if falls.any() else POINTS - 1
        low, high = (float(points[first - 1]) if first else low), float(points[first])
    return low, high


def _better(swept: Swept, few: Few, error: Error, deviations: float) -> Columns | None:
    """The best of all layouts at an error, where the choice does not stand beside it."""
    found = _best_of_all(swept, error, deviations)
    if found is None:
        return None
    more = few.with_one(found)
    at = np.array([deviations])
    return None if more.stands(*_times(few.case, more.columns, error, at))[0] else found


def _best_of_all(swept: Swept, error: Error, deviations: float) -> Columns | None:
    value = float(error.value(np.array(deviations)))
    if swept.explored is not None:
        return _by_bounds(replace(swept.explored.space, case=error.case(swept.space.case, value)))
    case, columns = swept.space.case, swept.space.layouts
    step_ns, bubble_ns = times(error.case(case, value), columns)
    prices = replace(swept.prices, step_ns=step_ns, bubble_ns=bubble_ns)
    scores, feasible = _judged(case, swept.space.one_size, columns, prices)
    if not feasible.any():
        return None
    best = int(np.argmin(np.where(feasible, scores, np.iinfo(np.int64).max)))
    return {name: column[[best]] for name, column in columns.items()}


def _by_bounds(space: Space) -> Columns | None:
    search = BestFirst(space)
    search.answer([Question("score", space.case.hard, time=True)])
    found = search.result()
    if not found.feasible.any():
        return None
    return {name: column[found.by_objective[:1]] for name, column in found.space.layouts.items()}
