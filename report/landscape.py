"""A plan -> the layouts that it was chosen from, priced: their memory, their time, and which are to be drawn.

Of a space that can be priced whole every layout is priced, and the frontier is that of all. A larger one is
thinned while its variables are decided: whenever more than THINNED layouts are left, every k-th of them goes
on. Of either, MOST points of each kind are drawn, evenly over their order by time, and the frontier always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from parc.backends import BACKENDS
from parc.compiler.algebra import Integers, Mask
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.search.best_first import explored
from parc.compiler.search.columns import distinct
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept, fits, sweep
from parc.compiler.variables import ORDER

#: Layouts of a large space that are priced, and points of each kind that are drawn.
THINNED, MOST = 2**12, 700
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
    """What a plan was chosen from; None where no layout that was priced is allowed. `known` are the layouts
    that the search kept: of a small space all, of a large one the best, which join those of the thinned one.
    """
    case = Case(plan.job, BACKENDS[plan.target].target)
    known = known or explored(Space(case))
    whole = known.explored is None
    swept = _once(known if whole else thinned(case).with_rows(known))
    if not swept.feasible.any():
        return None
    memory, time = swept.prices.memory_kib, swept.prices.step_ns
    fitting = np.broadcast_to(fits(case, swept.prices), time.shape)
    most_ns = MORE_TIME * max(int(time[swept.feasible].min()), plan.estimate.step_seconds * 1e8)
    near = (memory * 1024 <= MORE_MEMORY * case.gpu.memory) & (time <= most_ns)
    kinds = swept.feasible & near, fitting & ~swept.feasible & near, ~fitting & near
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


def thinned(case: Case) -> Swept:
    """Some layouts of a large space with prices, in all of their placements."""
    space = Space(case)
    columns: dict[str, Integers] = {}
    for name in ORDER:
        columns = space.extend(columns, [name])
        if (count := len(columns[name])) > THINNED:
            rows = np.linspace(0, count - 1, THINNED).astype(np.int64)
            columns = {key: column[rows] for key, column in columns.items()}
    return sweep(replace(space, blocks=columns))


def _once(swept: Swept) -> Swept:
    """Each layout with one of its placements: the fastest of those that are allowed, else that fit, else the
    one that needs the least memory."""
    code = distinct([swept.space.layouts[name] for name in ORDER])[1]
    fitting = np.broadcast_to(fits(swept.space.case, swept.prices), swept.feasible.shape)
    value = np.where(fitting, swept.prices.step_ns, swept.prices.memory_kib)
    rows = np.lexsort((value, ~fitting, ~swept.feasible, code))
    mask = np.zeros(len(rows), dtype=bool)
    mask[rows[np.unique(code[rows], return_index=True)[1]]] = True
    return swept.only(mask)


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
