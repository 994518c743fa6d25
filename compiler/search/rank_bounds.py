"""Blocks of layouts whose placement is open -> bounds on the time of their pipelines' ranks.

Whatever the placement, all ranks together take at least as long as one rank that holds the whole model would:
what traffic outlasts the work, and what the host outlasts the GPU, only grows when layers are parted. The
slowest rank takes at least the mean, and whole layers divide no better than `balanced` says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algebra import LIMIT, Integers, added
from ..case import Case
from ..interval import Range, interval
from ..pipeline.even_split import dense_blocks
from ..pipeline.rank_load import (
    KINDS,
    RECOMPUTED_IN_ALL,
    Load,
    common_of,
    experts_of,
    kinds,
    whole_chunks,
)
from ..time import step
from .ranges import Ranges

#: Nanoseconds of a rank that rounding down may take off.
ROUNDED = 4


def rank_times(x: Ranges) -> tuple[Range, Range]:
    """Bounds on `time/step.py:rank_times` over all placements."""
    every = _whole(x)
    layer = _layer(x)
    slowest = np.maximum(-(-every // pipelines(x)), balanced(x, layer, _head(x, layer)))
    most = np.asarray(LIMIT)
    return Range(slowest, most), Range(np.maximum(every, slowest), most)


def pipelines(x: Ranges) -> Integers:
    return x.variable("pp").low


def _whole(x: Ranges) -> Integers:
    """The least nanoseconds of a micro-batch on all ranks together."""
    load = _load(x, _blocks(x.case), RECOMPUTED_IN_ALL, ends=True)
    found = added(x, step.slot(x, load).values()).low
    return np.asarray(np.maximum(found - ROUNDED * pipelines(x), 0))


def _layer(x: Ranges) -> Integers:
    """The least nanoseconds of a micro-batch on a rank for each of its layers."""
    found = []
    for kind in kinds(x.case):
        one = {each: int(each == kind) for each in KINDS}
        parts = step.slot(x, _load(x, one, {kind: whole_chunks}, ends=False))
        found.append(added(x, (each for name, each in parts.items() if name != "other")).low)
    return np.asarray(np.maximum(np.minimum.reduce(found) - ROUNDED, 0))


def _head(x: Ranges, layer: Integers) -> Integers:
    """The least nanoseconds that the head adds to the last rank."""
    return x.term(step.head_forward_backward).low + x.case.model.mtp_layers * layer


def balanced(x: Ranges, layer: Integers, head: Integers) -> Integers:
    """The least that the slowest rank takes where each layer takes `layer` and the last rank `head` more:
    the best of all numbers of layers that the last rank may have, of which the others share what is left.
    """
    layers, pp = x.case.model.layers, pipelines(x)
    share, others = -(-layers // pp), np.maximum(pp - 1, 1)
    reach = math.ceil(x.case.placements.heaviest_head) + 1
    fewest = np.maximum(share - reach, 0)
    least = np.where(fewest > 0, -(-(layers - fewest + 1) // others) * layer, LIMIT)
    for more in range(reach + 1):
        last = np.minimum(fewest + more, share)
        rest = -(-(layers - last) // others) * layer
        least = np.minimum(least, np.maximum(rest, last * layer + head))
    return np.where(pp > 1, least, layers * layer + head)


def _load(x: Ranges, held: dict[str, int], recomputed: dict[str, Any], ends: bool) -> Load[Range]:
    blocks = held.get("dense", 0), held.get("moe", 0)
    return Load(
        held={kind: x.number(held.get(kind, 0)) for kind in kinds(x.case)},
        recomputed={
            kind: x.term(recomputed[kind]) if kind in recomputed else x.number(0)
            for kind in kinds(x.case)
        },
        common=x.term(common_of(blocks, ends)),
        experts=x.term(experts_of(blocks, ends)) if x.case.model.moe else x.number(0),
        flight=interval(0),
        first=ends,
        last=ends,
    )


def _blocks(case: Case) -> dict[str, int]:
    """All blocks of the model by kind."""
    dense = min(dense_blocks(case.model), case.model.layers)
    return {"dense": dense, "moe": case.model.layers - dense}
