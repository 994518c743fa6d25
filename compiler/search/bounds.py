"""A space -> its blocks that may hold a layout as good as a known one; bounds rule out the others.

A block decides the degrees, then ZeRO, which most often decides whether anything fits, then those of experts
and recomputation, and leaves the rest open. Its bounds are those of
`ranges.py` on the very sums that price a layout, so that no layout of a block is better than its bound. What
memory rules out needs no bound on its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from ...dsl.diagnostics import Diagnostic, JobError
from ..algebra import Integers, Mask
from ..case import Case
from ..codes import TOO_LARGE
from ..interval import interval
from ..memory.peak import host_memory, peak_memory, role_memory
from ..pipeline.rank_table import INNER, LAST
from ..time.step import step_time
from ..variables import ORDER
from .columns import rows_of
from .goal_constraints import Totals, longest_step_ns, minimised
from .ranges import Ranges
from .rank_bounds import rank_times
from .simplicity import least_complexity
from .space import Space
from .sweep import capacity_kib, host_capacity_kib, objectives

#: Decisions of blocks, each level a finer cut of the last.
LEVELS: tuple[tuple[str, ...], ...] = (
    ("nodes", "tp", "pp", "cp"),
    ("micro_batch",),
    ("zero", "offload"),
    ("ep", "etp"),
    ("recompute",),
    ("vpp",),
)
#: Blocks whose terms are tabulated at once.
AT_ONCE = 2**18
#: Most blocks of the first two levels that are bounded at once.
FEW_BLOCKS = 2**16
#: Most blocks of the first level, a second for each quarter of a million.
MOST_BLOCKS = 3 * 2**20
#: Most blocks of the first level times micro-batches.
MOST_PARTS = 2**26
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
    """Blocks, columns of `Space.extend`, with their bounds. Memory is first bounded by that of one role of
    ranks, which rules out most blocks; the other bounds are of the blocks that somebody asks about, and 0 and
    `LOWEST` of the others."""

    def __init__(self, space: Space, blocks: Mapping[str, Integers]):
        self.space = space
        self.blocks = blocks
        count = len(blocks["nodes"])
        memory, host, step = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self.least = Least(np.full(count, LOWEST, dtype=np.int64), step, memory, host)
        self._whole = Ranges(space, blocks) if count <= AT_ONCE else None
        self._held, self._timed = np.zeros((2, count), dtype=bool)
        #: The least complexity of the layouts.
        self.complexity = least_complexity(blocks)
        every = np.ones(count, dtype=bool)
        for rows, x in self._parts(every, ~every):
            both = (interval(role_memory(x, role)).low for role in (INNER[0], LAST))
            memory[rows] = np.maximum(*both)

    def hold(self, mask: Mask) -> None:
        """Bounds the memory of more blocks by all of their ranks, and on the host."""
        for rows, x in self._parts(mask, self._held):
            self.least.memory_kib[rows] = interval(peak_memory(x)).low
            self.least.host_kib[rows] = interval(host_memory(x)).low

    def time(self, mask: Mask) -> None:
        """Bounds the time and the first objective of more blocks."""
        objective = objectives(self.space.case)[0]
        for rows, x in self._parts(mask, self._timed):
            x.apart = objective.quantity == "bubble"
            step_ns, bubble_ns = (interval(value) for value in step_time(x, rank_times(x)))
            sized = objective.quantity in ("memory", "risk")
            memory_kib = interval(peak_memory(x) if sized else 0)
            totals = Totals(step_ns, bubble_ns, memory_kib)
            found = minimised(x, totals, objective, self.space.one_size)
            self.least.step_ns[rows] = step_ns.low
            self.least.score[rows] = found.low
        self._whole = None

    def _parts(self, mask: Mask, known: Mask) -> Iterator[tuple[Integers | slice, Ranges]]:
        """The algebra of blocks that are not known, with their rows, in parts. Where they are most of all
        blocks, of all: for some of them the terms would have to be tabulated again."""
        missing = np.flatnonzero(mask & ~known)
        if self._whole is not None and 2 * len(missing) > len(mask):
            known[:] = True
            yield from self._whole.parts()
            return
        known[missing] = True
        for start in range(0, len(missing), AT_ONCE):
            rows = missing[start : start + AT_ONCE]
            part = {name: column[rows] for name, column in self.blocks.items()}
            for some, x in Ranges(self.space, part).parts():
                yield rows[some], x


def least(space: Space, blocks: Mapping[str, Integers]) -> Least:
    """All bounds of blocks."""
    bounds = Bounds(space, blocks)
    every = np.ones(len(blocks["nodes"]), dtype=bool)
    bounds.hold(every)
    bounds.time(every)
    return bounds.least


def levels(space: Space) -> tuple[tuple[str, ...], ...]:
    """LEVELS, the first two of them as one where that makes few blocks."""
    blocks: dict[str, Integers] | None = dict(space.blocks or {})
    both = (*LEVELS[0], *LEVELS[1])
    for name in both:
        if blocks is not None and name not in blocks:
            blocks = space.extend_to(blocks, name, FEW_BLOCKS)
    return LEVELS if blocks is None else (both, *LEVELS[2:])


def first_level(space: Space, names: tuple[str, ...]) -> Bounds:
    """The blocks of the first level with their bounds, which all questions about a space share."""
    if not space.shared:
        blocks = dict(space.blocks or {})
        for name in names:
            if name not in blocks:
                blocks = space.extend_to(blocks, name, MOST_BLOCKS) or _refuse(space, MOST_BLOCKS)
        if len(blocks["nodes"]) * len(space.domains["micro_batch"]) > MOST_PARTS:
            _refuse(space, MOST_PARTS)
        found = Bounds(space, blocks)
        if len(blocks["nodes"]) > MOST_SHARED:
            return found
        space.shared.append(found)
    return space.shared[0]


class TooManyBlocks(JobError):
    """A space with more blocks than can be bounded in seconds."""


def _refuse(space: Space, most: int) -> NoReturn:
    job, target = space.case.job, space.case.target.name
    message = f"the search of {target}'s layouts of {job.name} has over {most:,} parts to bound"
    help = "leave fewer to search: fewer counts of nodes, or a global batch with fewer divisors"
    raise TooManyBlocks([Diagnostic(TOO_LARGE, message, job.span("cluster", "nodes"), help=help)])


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
    for names in (*LEVELS, ORDER):
        blocks = space.extend(blocks, names)
        bounds = Bounds(space, blocks)
        found = bounds.least
        bounds.hold(within(space.case, found))
        bounds.time(within(space.case, found))
        blocks = rows_of(blocks, within(space.case, found) & (found.score <= most))
    return replace(space, blocks=blocks)
