"""A space -> its blocks that may hold a layout as good as a known one; bounds rule out the others.

A block decides the degrees, then ZeRO, which most often decides whether anything fits, then those of experts
and recomputation, and leaves the rest open. Its bounds are those of
`ranges.py` on the very sums that price a layout, so that no layout of a block is better than its bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..algebra import Integers, Mask
from ..case import Case
from ..interval import interval
from ..memory.peak import host_memory, peak_memory
from ..time.step import step_time
from .goal_constraints import Totals, longest_step_ns, minimised
from .ranges import Ranges
from .space import Space, rows_of
from .sweep import capacity_kib, host_capacity_kib, objectives

#: Decisions of blocks, each level a finer cut of the last.
LEVELS = (
    ("nodes", "tp", "pp", "cp", "micro_batch"),
    ("zero", "offload"),
    ("ep", "etp"),
    ("recompute",),
)
#: Most blocks whose bounds are kept from one question to the next.
MOST_SHARED = 2**21


@dataclass(frozen=True)
class Least:
    """Lower bounds on the layouts of each block: the first objective as the integer that is minimised,
    nanoseconds of a step, KiB on a GPU and in host memory."""

    score: Integers
    step_ns: Integers
    memory_kib: Integers
    host_kib: Integers


#: Less than any bound.
LOWEST = -(2**62)


class Bounds:
    """Blocks, columns of `Space.extend`, with their bounds: those of memory, and those of time and the first
    objective of the blocks that somebody asked about; the others have `LOWEST` and 0."""

    def __init__(self, space: Space, blocks: Mapping[str, Integers]):
        self.space = space
        self.blocks = blocks
        count = len(blocks["nodes"])
        self.least = Least(
            np.full(count, LOWEST, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
        )
        self._ranges = Ranges(space, blocks)
        self._timed = np.zeros(count, dtype=bool)
        for rows, x in self._ranges.parts():
            self.least.memory_kib[rows] = interval(peak_memory(x)).low
            self.least.host_kib[rows] = interval(host_memory(x)).low

    def time(self, mask: Mask) -> None:
        """Bounds the time and the first objective of more blocks."""
        rows = np.flatnonzero(mask & ~self._timed)
        if 2 * len(rows) > len(mask):
            # The terms are tabulated for all of the blocks: a copy would have to tabulate them again.
            rows, ranges = np.flatnonzero(~self._timed), self._ranges
        if not len(rows):
            return
        if len(rows) < len(mask):
            part = {name: column[rows] for name, column in self.blocks.items()}
            ranges = Ranges(self.space, part)
        objective = objectives(self.space.case)[0]
        for some, x in ranges.parts():
            step_ns, bubble_ns = (interval(value) for value in step_time(x))
            sized = objective.quantity in ("memory", "risk")
            memory_kib = interval(peak_memory(x)) if sized else interval(0)
            totals = Totals(step_ns, bubble_ns, memory_kib)
            found = minimised(x, totals, objective, self.space.one_size)
            self.least.step_ns[rows[some]] = step_ns.low
            self.least.score[rows[some]] = found.low
        self._timed[rows] = True


def least(space: Space, blocks: Mapping[str, Integers]) -> Least:
    """All bounds of blocks."""
    bounds = Bounds(space, blocks)
    bounds.time(np.ones(len(blocks["nodes"]), dtype=bool))
    return bounds.least


def first_level(space: Space) -> Bounds:
    """The blocks of the first level with their bounds, which all questions about a space share."""
    if not space.shared:
        blocks = space.extend(space.blocks or {}, LEVELS[0])
        found = Bounds(space, blocks)
        if len(blocks["nodes"]) > MOST_SHARED:
            return found
        space.shared.append(found)
    return space.shared[0]


def within(
    case: Case, least: Least, gpu: bool = True, host: bool = True, time: bool = True
) -> Mask:
    """Which layouts, or blocks of them, may fit into a GPU's and the host's memory and end a step in time, of
    which `gpu`, `host` and `time` ask for some."""
    mask = np.ones(len(least.step_ns), dtype=bool)
    for asked, value, most in (
        (gpu, least.memory_kib, capacity_kib(case)),
        (host, least.host_kib, host_capacity_kib(case)),
        (time, least.step_ns, longest_step_ns(case)),
    ):
        mask &= (value <= most) | (not asked)
    return mask


def narrowed(space: Space, most: int) -> Space:
    """The space less the blocks in which no layout runs with a first objective of at most `most`."""
    blocks: Mapping[str, Integers] = space.blocks or {}
    for names in LEVELS:
        blocks = space.extend(blocks, names)
        bounds = Bounds(space, blocks)
        bounds.time(within(space.case, bounds.least, time=False))
        found = bounds.least
        blocks = rows_of(blocks, within(space.case, found) & (found.score <= most))
    return replace(space, blocks=blocks)
