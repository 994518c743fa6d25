"""A space -> all its layouts priced with numpy, the feasible ones in order from best to worst."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce

import numpy as np

from ...dsl.diagnostics import Source, Span
from ...dsl.expression import COUNTED, evaluate
from ...dsl.job import Constraint, Objective
from ..algebra import Array, Arrays, Column, Integers, Mask
from ..case import Case
from ..pricing.quantities import Prices, price, quantities
from ..variables import ORDER, PLACE, SEARCHED
from .columns import distinct, rows_of
from .goal_constraints import (
    Totals,
    fewest_first,
    longest_step_ns,
    minimised,
)
from .simplicity import CROWDED, UNMET, complexity
from .space import Space

#: Quantities that rise or fall in proportion to the time of a step.
PER_STEP = ("mfu", "hfu", "tokens_per_second", "step_time", "days", "cost", "energy")
#: Share of host memory for offloaded state; the rest is for the operating system and the data loader.
HOST_SHARE = 0.9


@dataclass(frozen=True)
class Incumbent:
    """Knowledge before a search: the least first objective so far, as the integer that is minimised, a layout
    that has it, and the layout that would be chosen."""

    score: int
    best: Mapping[str, int]
    chosen: Mapping[str, int]


@dataclass(frozen=True)
class Explored:
    """A space of which only the layouts that answer questions are kept (best_first.py), and how many of its
    layouts were priced; bounds rule out the others."""

    space: Space
    priced: int


@dataclass(frozen=True)
class Swept:
    """A space with the price of each layout. `values` are columns by variable and quantity (base units);
    `feasible` marks the layouts that are runnable and satisfy every hard constraint. `explored` is of what
    the space is a part, where that is too large to be priced whole."""

    space: Space
    prices: Prices
    values: Mapping[str, Array]
    feasible: Mask
    explored: Explored | None = None

    def only(self, mask: Mask) -> Swept:
        """Some of the rows."""
        prices = Prices(*(getattr(self.prices, each.name)[mask] for each in fields(Prices)))
        values = {name: np.broadcast_to(it, mask.shape)[mask] for name, it in self.values.items()}
        space = replace(self.space, blocks=rows_of(self.space.layouts, mask))
        return Swept(space, prices, values, self.feasible[mask], self.explored)

    def with_rows(self, other: Swept) -> Swept:
        """These rows, and those of another part of the same space."""

        def both(here: Array, there: Array) -> Array:
            return np.concatenate([here, there])

        layouts, others = self.space.layouts, other.space.layouts
        names = [each.name for each in fields(Prices)]
        return Swept(
            replace(
                self.space, blocks={name: both(layouts[name], others[name]) for name in layouts}
            ),
            Prices(
                *(both(getattr(self.prices, name), getattr(other.prices, name)) for name in names)
            ),
            {name: both(column, other.values[name]) for name, column in self.values.items()},
            both(self.feasible, other.feasible),
        )

    @cached_property
    def order(self) -> Integers:
        """Feasible rows from best to worst.

        Rows whose first objective lies within `slack` of the best come before all others: among them those
        with fewer unmet preferences, then the simpler ones. Otherwise as `by_objective`.
        """
        rows = self.by_objective
        if not len(rows):
            return rows
        first = score(objectives(self.space.case)[0], self)[rows]
        near = first <= first[0] + slack(self.space.case, int(first[0]))
        effort = np.where(near, self.effort(rows), 0)
        return rows[np.lexsort([np.arange(len(rows)), effort, ~near])]

    def effort(self, rows: Integers) -> Integers:
        """The order among rows that are about equally good: unmet preferences, then complexity, in which
        headroom comes before smaller degrees."""
        case = self.space.case
        columns = {name: column[rows] for name, column in self.space.layouts.items()}
        unmet = sum(np.where(self._met(each)[rows], 0, UNMET) for each in case.preferred)
        crowded = np.where(self._met(case.headroom)[rows], 0, CROWDED) if case.headroom else 0
        return np.asarray(complexity(columns) + unmet + crowded)

    @cached_property
    def by_objective(self) -> Integers:
        """Feasible rows by the objectives in turn, then by smaller variables by ORDER; of each layout the one
        with the best placement alone, of equally good ones the one that needs the least memory.
        """
        rows = np.flatnonzero(self.feasible)
        scores = [score(objective, self)[rows] for objective in objectives(self.space.case)]
        layout = [self.values[name][rows] for name in reversed(ORDER)]
        placed = [self.values[PLACE][rows], self.prices.memory_kib[rows]]
        rows = rows[np.lexsort([*placed, *layout, *reversed(scores)])]
        if not self.values[PLACE].any():
            return rows
        code = distinct([self.values[name][rows] for name in ORDER])[1]
        return rows[np.sort(np.unique(code, return_index=True)[1])]

    def placed(self, layout: Mapping[str, int]) -> dict[str, int] | None:
        """The decisions of a feasible layout with its best placement; None where it has no row."""
        rows = self.by_objective
        same = np.ones(len(rows), dtype=bool)
        for name in ORDER:
            same &= self.values[name][rows] == layout[name]
        found = np.flatnonzero(same)
        return self.decisions(int(rows[found[0]])) if len(found) else None

    @cached_property
    def best(self) -> dict[str, int] | None:
        """The best feasible layout, if there is one."""
        return self.layout(int(self.order[0])) if len(self.order) else None

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """The layout that the solver is to prove optimal; None where no layout is feasible."""
        if not len(self.order):
            return None
        first = int(self.by_objective[0])
        least = int(score(objectives(self.space.case)[0], self)[first])
        return Incumbent(least, self.decisions(first), self.decisions(int(self.order[0])))

    def _met(self, preferred: Constraint) -> Mask:
        """Where a preference is met."""
        met = np.asarray(evaluate(preferred.expression, self.values), dtype=bool)
        return np.broadcast_to(met, self.prices.step_ns.shape)

    def decisions(self, row: int) -> dict[str, int]:
        """The decisions of a row, its placement too."""
        return {name: int(self.space.layouts[name][row]) for name in SEARCHED}

    def layout(self, row: int) -> dict[str, int]:
        return {name: int(column[row]) for name, column in self.space.layouts.items()}


DEFAULT_OBJECTIVE = Objective("maximize", "mfu", Span(Source("default", "maximize mfu"), 0, 12))


def objectives(case: Case) -> tuple[Objective, ...]:
    """The goal's objectives; the highest MFU when it has none."""
    return case.job.goal.objectives or (DEFAULT_OBJECTIVE,)


def score(objective: Objective, swept: Swept) -> Integers:
    """An objective as integers to minimise, one per layout."""
    space, prices = swept.space, swept.prices
    totals = Totals(prices.step_ns, prices.bubble_ns, prices.memory_kib)
    value = minimised(Arrays(space.case, space.layouts), totals, objective, space.one_size)
    return np.broadcast_to(value, prices.step_ns.shape)


#: The share by which the first objective may be worse in a placement that needs less memory.
ROOM = 0.001


def slack(case: Case, best: int) -> int:
    """By how much the first objective may exceed its minimum `best` for preferences and simplicity. Of one
    that counts nodes the step's time may, on as many nodes."""
    return _share(case, best, case.job.goal.within)


def room(case: Case, best: int) -> int:
    """By how much a layout's first objective may exceed that of its best placement."""
    return _share(case, best, min(case.job.goal.within, ROOM))


def _share(case: Case, best: int, share: float) -> int:
    if objectives(case)[0].quantity in COUNTED:
        best %= fewest_first(case)
    return int(abs(best) * share)


def capacity_kib(case: Case) -> int:
    return case.gpu.memory // 1024


def host_capacity_kib(case: Case) -> int:
    """Host memory that one GPU's offloaded state may take."""
    return int(HOST_SHARE * case.cluster.node_memory / case.cluster.gpus_per_node) // 1024


def satisfied(constraint: Constraint, values: Mapping[str, Column]) -> Mask:
    """Where a hard constraint is satisfied."""
    met = np.asarray(evaluate(constraint.expression, values), dtype=bool)
    return ~met if constraint.kind == "forbid" else met


def fits(case: Case, prices: Prices) -> Mask:
    """Which layouts fit into GPU memory and host memory."""
    return (prices.memory_kib <= capacity_kib(case)) & (prices.host_kib <= host_capacity_kib(case))


def runnable(case: Case, prices: Prices) -> Mask:
    """Which layouts fit into memory and end a step within `longest_step_ns`; the goal is not considered."""
    return fits(case, prices) & (prices.step_ns <= longest_step_ns(case))


def sweep(space: Space) -> Swept:
    """Price every layout of a space and mark the feasible ones."""
    case = space.case
    prices = price(case, space.layouts)
    priced = quantities(case, space.layouts, prices)
    shape = space.layouts["tp"].shape
    values = {name: np.broadcast_to(it, shape) for name, it in (space.layouts | priced).items()}
    hard = [satisfied(constraint, values) for constraint in case.hard]
    feasible = reduce(np.logical_and, hard, runnable(case, prices))
    return Swept(space, prices, values, np.broadcast_to(feasible, space.layouts["tp"].shape))
