"""A plan -> the layouts that it was chosen from, priced: their memory, their time, and which are to be drawn.

Of the layouts that were priced (compiler/search/sample.py) MOST of each kind are drawn, evenly over their
order by time, and the frontier always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parc.backends import TARGETS
from parc.compiler.algebra import Integers, Mask
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.search.sample import fitting, sample
from parc.compiler.search.sweep import Swept

#: Points of each kind that are drawn.
MOST = 700
#: What is drawn reaches so far beyond the GPU's memory, and beyond the fastest step.
MORE_MEMORY, MORE_TIME = 1.6, 12.0


@dataclass(frozen=True)
class Point:
    """A layout with bytes of its fullest GPU and seconds of its step."""

    layout: dict[str, int]
    memory_bytes: int
    step_seconds: float


@dataclass(frozen=True)
class Landscape:
    """Layouts by kind, and the fastest for each number of nodes, in order; empty where the space was thinned
    or all layouts have the same. `priced` were priced, `whole` tells whether that is all of the space, and
    `outside` is the number of layouts beyond the picture."""

    allowed: tuple[Point, ...]
    refused: tuple[Point, ...]
    unfit: tuple[Point, ...]
    frontier: tuple[Point, ...]
    fastest: Point
    by_nodes: tuple[Point, ...]
    priced: int
    drawn: int
    outside: int
    whole: bool


def landscape(plan: Plan, known: Swept | None = None) -> Landscape | None:
    """Layouts that a plan was chosen from; None where no priced layout is allowed. `known` are the layouts
    that the search kept."""
    case = Case(plan.job, TARGETS[plan.target].target)
    swept, whole = sample(case, known)
    if not swept.feasible.any():
        return None
    memory, time = swept.prices.memory_kib, swept.prices.step_ns
    fit = fitting(swept)
    most_ns = MORE_TIME * max(int(time[swept.feasible].min()), plan.estimate.step_seconds * 1e8)
    near = (memory * 1024 <= MORE_MEMORY * case.gpu.memory) & (time <= most_ns)
    kinds = swept.feasible & near, fit & ~swept.feasible & near, ~fit & near
    drawn = [_spread(time, mask) for mask in kinds]
    allowed, refused, unfit = (_points(swept, rows) for rows in drawn)
    frontier = _frontier(memory, time, swept.feasible)
    fastest = int(np.flatnonzero(swept.feasible)[np.argmin(time[swept.feasible])])
    return Landscape(
        allowed,
        refused,
        unfit,
        frontier=_points(swept, frontier),
        fastest=_points(swept, [fastest])[0],
        by_nodes=_points(swept, _by_nodes(swept)) if whole else (),
        priced=len(time),
        drawn=sum(map(len, drawn)),
        outside=int(np.count_nonzero(~near)),
        whole=whole,
    )


def _spread(time: Integers, mask: Mask) -> Integers:
    """At most MOST of the rows that a mask marks, evenly over their order by time."""
    rows = np.flatnonzero(mask)
    rows = rows[np.argsort(time[rows], kind="stable")]
    if len(rows) <= MOST:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]


def _frontier(memory: Integers, time: Integers, feasible: Mask) -> list[int]:
    """The rows than which no other allowed one is as small and as fast, the smallest first."""
    rows = np.flatnonzero(feasible)
    rows = rows[np.lexsort((time[rows], memory[rows]))]
    least = np.minimum.accumulate(time[rows])
    first = np.concatenate([[True], least[1:] < least[:-1]])
    return [int(row) for row in rows[first]]


def _by_nodes(swept: Swept) -> list[int]:
    """The best allowed row of each number of nodes, by the goal."""
    nodes = np.broadcast_to(swept.space.layouts["nodes"], swept.feasible.shape)
    rows = swept.by_objective
    _, first = np.unique(nodes[rows], return_index=True)
    return [int(row) for row in rows[first]] if len(first) > 1 else []


def _points(swept: Swept, rows: Sequence[int] | Integers) -> tuple[Point, ...]:
    chosen = np.asarray(rows, dtype=np.int64)
    columns = swept.space.layouts
    layouts = zip(*(column[chosen].tolist() for column in columns.values()), strict=True)
    memory, time = (
        column[chosen].tolist() for column in (swept.prices.memory_kib, swept.prices.step_ns)
    )
    return tuple(
        Point(dict(zip(columns, layout, strict=True)), kib * 1024, nanoseconds / 1e9)
        for layout, kib, nanoseconds in zip(layouts, memory, time, strict=True)
    )
