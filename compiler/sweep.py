"""The exhaustive answer: price every allowed layout with numpy and take the best.
What the solver is checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..dsl.diagnostics import Source, Span
from ..dsl.expression import evaluate
from ..dsl.job import Constraint, Objective
from .case import Case
from .quantities import Prices, price_space, quantities
from .space import ORDER, Space
from .terms import Integers

#: A layout must be this much better before a preference yields to it.
PREFERENCE_MARGIN = 0.01
#: Host memory that stays for the operating system and the data loader.
HOST_SHARE = 0.9


@dataclass(frozen=True)
class Swept:
    """Every allowed layout with its price, and which of them the hard conditions admit."""

    space: Space
    prices: Prices
    values: Mapping[str, Any]
    feasible: Any

    def order(self) -> Integers:
        """Feasible rows from best to worst: objectives, then smaller variables in a fixed order.

        Preferences come first among the rows whose first objective lies within PREFERENCE_MARGIN of the best.
        """
        rows = np.flatnonzero(self.feasible)
        wanted = [score(objective, self.values)[rows] for objective in objectives(self.space.case)]
        keys = [self.values[name][rows] for name in reversed(ORDER)]
        keys += reversed(wanted)
        if len(rows) and self._preferred():
            unmet = sum(~met[rows] for met in self._preferred())
            near = wanted[0] <= wanted[0].min() + PREFERENCE_MARGIN * abs(wanted[0].min())
            keys += [np.where(near, unmet, 0), ~near]
        return rows[np.lexsort(keys)]

    def _preferred(self) -> list[Any]:
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


def score(objective: Objective, values: Mapping[str, Any]) -> Any:
    """Smaller is better."""
    value = np.asarray(values[objective.quantity], dtype=np.float64)
    return -value if objective.direction == "maximize" else value


def capacity_kib(case: Case) -> int:
    return case.gpu.memory // 1024


def host_capacity_kib(case: Case) -> int:
    """Host memory that one GPU's offloaded state may take."""
    return int(HOST_SHARE * case.cluster.node_memory / case.cluster.gpus_per_node) // 1024


def admits(constraint: Constraint, values: Mapping[str, Any]) -> Any:
    """Where a hard condition is met; `prefer` is never hard."""
    met = np.asarray(evaluate(constraint.expression, values), dtype=bool)
    return {"require": met, "forbid": ~met, "prefer": np.ones_like(met)}[constraint.kind]


def fits(case: Case, prices: Prices) -> Any:
    return (prices.memory_kib <= capacity_kib(case)) & (prices.host_kib <= host_capacity_kib(case))


def sweep(space: Space) -> Swept:
    """Price the whole space."""
    case = space.case
    prices = price_space(space)
    values = {**space.layouts, **quantities(case, space.layouts, prices)}
    hard = [admits(constraint, values) for constraint in case.job.goal.constraints]
    feasible = reduce(np.logical_and, hard, fits(case, prices))
    return Swept(space, prices, values, np.broadcast_to(feasible, space.layouts["tp"].shape))
