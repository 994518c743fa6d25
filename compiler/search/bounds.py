"""A space -> its blocks that may hold a layout as good as a known one; bounds rule out the others.

A block decides the degrees, then ZeRO, which most often decides whether anything fits, then those of experts
and recomputation, and leaves the rest open. Its bounds are those of
`ranges.py` on the very sums that price a layout, so that no layout of a block is better than its bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

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


@dataclass(frozen=True)
class Least:
    """Lower bounds on the layouts of each block: the first objective as the integer that is minimised,
    nanoseconds of a step, KiB on a GPU and in host memory."""

    score: Integers
    step_ns: Integers
    memory_kib: Integers
    host_kib: Integers


def least(space: Space, blocks: Mapping[str, Integers]) -> Least:
    """Bounds of blocks, columns of `Space.extend`."""
    found = np.empty((len(fields(Least)), len(blocks["nodes"])), dtype=np.int64)
    objective = objectives(space.case)[0]
    for rows, x in Ranges(space, blocks).parts():
        step_ns, bubble_ns = (interval(value) for value in step_time(x))
        memory_kib = interval(peak_memory(x))
        totals = Totals(step_ns, bubble_ns, memory_kib)
        score = minimised(x, totals, objective, space.one_size)
        for column, value in zip(
            found, (score, step_ns, memory_kib, interval(host_memory(x))), strict=True
        ):
            column[rows] = value.low
    return Least(*found)


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
        bounds = least(space, blocks)
        blocks = rows_of(blocks, within(space.case, bounds) & (bounds.score <= most))
    return replace(space, blocks=blocks)
