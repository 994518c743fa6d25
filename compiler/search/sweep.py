"""The exhaustive answer: price every allowed layout with numpy and take the best.
What the solver is checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ...dsl.diagnostics import Source, Span
from ...dsl.expression import evaluate
from ...dsl.job import Constraint, Objective
from ..algebra import Array, Arrays, Column, Integers, Mask
from ..case import Case
from ..pricing.quantities import Prices, price_space, quantities
from ..variables import ORDER
from .goal_constraints import Totals, minimised
from .space import Space

#: A layout must be better by more than one part of so many before a preference yields to it.
PREFERENCE_PARTS = 100
#: 9.8 hours; slower layouts are not layouts.
LONGEST_STEP_NS = 2**45
#: Host memory that stays for the operating system and the data loader.
HOST_SHARE = 0.9


@dataclass(frozen=True)
class Swept:
    """Every allowed layout with its price, and which of them the hard conditions admit."""

    space: Space
    prices: Prices
    values: Mapping[str, Array]
    feasible: Mask

    @cached_property
    def order(self) -> Integers:
        """Feasible rows from best to worst: objectives, then smaller variables in a fixed order.

        Preferences come first among the rows whose first objective lies within `slip` of the best.
        """
        rows = np.flatnonzero(self.feasible)
        wanted = [score(objective, self)[rows] for objective in objectives(self.space.case)]
        keys = [self.values[name][rows] for name in reversed(ORDER)]
        keys += reversed(wanted)
        if len(rows) and self._preferred():
            unmet = sum(~met[rows] for met in self._preferred())
            near = wanted[0] <= wanted[0].min() + slip(int(wanted[0].min()))
            keys += [np.where(near, unmet, 0), ~near]
        return rows[np.lexsort(keys)]

    @cached_property
    def best(self) -> dict[str, int] | None:
        """The best feasible layout, if there is one."""
        return self.layout(int(self.order[0])) if len(self.order) else None

    @cached_property
    def reached(self) -> int | None:
        """What the best feasible layout makes of the first objective, in the solver's integers."""
        first = objectives(self.space.case)[0]
        return int(score(first, self)[self.order[0]]) if len(self.order) else None

    def _preferred(self) -> list[Mask]:
        goal = self.space.case.job.goal
        shape = self.prices.step_ns.shape
        return [
            np.broadcast_to(np.asarray(evaluate(each.expression, self.values), dtype=bool), shape)
            for each in goal.constraints
            if each.kind == "prefer"
        ]

    def layout(self, row: int) -> dict[str, int]:
        return {name: int(column[row]) for name, column in self.space.layouts.items()}


DEFAULT_OBJECTIVE = Objective("maximize", "mfu", Span(Source("default", "maximize mfu"), 0, 12))


def objectives(case: Case) -> tuple[Objective, ...]:
    """The goal's objectives; the highest MFU when it has none."""
    return case.job.goal.objectives or (DEFAULT_OBJECTIVE,)


def score(objective: Objective, swept: Swept) -> Integers:
    """The integers that the solver makes small for an objective."""
    space, prices = swept.space, swept.prices
    totals = Totals(prices.step_ns, prices.bubble_ns, prices.memory_kib)
    one_size = len(space.values("gpus")) == 1
    value = minimised(Arrays(space.case, space.layouts), totals, objective, one_size)
    return np.broadcast_to(value, prices.step_ns.shape)


def slip(best: int) -> int:
    """How far the first objective may fall behind the best for a preference."""
    return abs(best) // PREFERENCE_PARTS


def capacity_kib(case: Case) -> int:
    return case.gpu.memory // 1024


def longest_step_ns(case: Case) -> int:
    """The limit of a step, low enough for its product with the GPUs to stay below 2**62."""
    return min(LONGEST_STEP_NS, 2**61 // (max(case.cluster.nodes) * case.cluster.gpus_per_node))


def host_capacity_kib(case: Case) -> int:
    """Host memory that one GPU's offloaded state may take."""
    return int(HOST_SHARE * case.cluster.node_memory / case.cluster.gpus_per_node) // 1024


def admits(constraint: Constraint, values: Mapping[str, Column]) -> Mask:
    """Where a hard condition is met; `prefer` is never hard."""
    met = np.asarray(evaluate(constraint.expression, values), dtype=bool)
    return {"require": met, "forbid": ~met, "prefer": np.ones_like(met)}[constraint.kind]


def fits(case: Case, prices: Prices) -> Mask:
    return (prices.memory_kib <= capacity_kib(case)) & (prices.host_kib <= host_capacity_kib(case))


def possible(case: Case, prices: Prices) -> Mask:
    """Which layouts fit and end a step in time, whatever the goal asks for."""
    return fits(case, prices) & (prices.step_ns <= longest_step_ns(case))


def sweep(space: Space) -> Swept:
    """Price the whole space."""
    case = space.case
    prices = price_space(space)
    values = {**space.layouts, **quantities(case, space.layouts, prices)}
    hard = [admits(constraint, values) for constraint in case.job.goal.constraints]
    feasible = reduce(np.logical_and, hard, possible(case, prices))
    return Swept(space, prices, values, np.broadcast_to(feasible, space.layouts["tp"].shape))
