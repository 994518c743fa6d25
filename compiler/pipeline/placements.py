"""A model and a pipeline -> the placements of its layers that the search chooses from.

Placement 0 is the even one of `even_split.py`. In the others inner ranks have as many layers as the fullest,
or one or two less, the shorter ones in front, where more micro-batches are in flight; the first and the last
rank have fewer, for the memory of the embedding's and for the time of the head's. For Llama 3's 126 layers on
16 stages one of them is the published placement: a layer less on the first and the last (arXiv 2407.21783,
3.3.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

from ...dsl.arrays import np
from ...dsl.model import Model
from ..algebra import Integers
from .even_chunks import even_runs
from .even_split import (
    Split,
    dense_blocks,
    dense_weight,
    head_weight,
    light_first,
    ranks_of,
    split,
)
from .groups import group
from .longest_chain import Chains, Ranks

#: Most layers by which the first rank may have fewer than the fullest inner one.
LESS_ON_FIRST = 4
#: The least share of `head_weight` that a head may take of a layer's time: attention and traffic, which its
#: FLOP do not count, lengthen layers alone.
LIGHTEST_HEAD = 0.25
#: Parts of a layer's forward pass in which passes are counted.
LAYER = 600
#: Most virtual stages that are placed otherwise than evenly.
MOST_STAGES = 1024
#: Stages of a pipeline whose passes are kept for other numbers of micro-batches: 10 KiB each.
FEW_STAGES = 128


class Totals(NamedTuple):
    """Layers of pipeline ranks: of the first and the last, and of the `long` last inner ones `most` each, of
    the `shorter` first inner ones two less, of those between one less."""

    first: int
    most: int
    long: int
    last: int
    shorter: int = 0

    def inner(self, pp: int) -> tuple[tuple[int, int], ...]:
        """Kinds of inner ranks in their order: how many, and layers of each."""
        short = pp - 2 - self.long - self.shorter
        many = ((self.shorter, self.most - 2), (short, self.most - 1), (self.long, self.most))
        return tuple(each for each in many if each[0])

    def ranks(self, pp: int) -> tuple[int, ...]:
        """Layers of each rank."""
        inner = (layers for many, layers in self.inner(pp) for _ in range(many))
        return (self.first, *inner, self.last)


class Placements:
    """The placements of a model on pipelines; in the shape of a V, whose ranks have a light and a heavy end
    each, the even ones alone. `head_pace` is the time of a FLOP of the head over one of a layer.
    """

    def __init__(self, model: Model, v_shaped: bool = False, head_pace: float = 1.0):
        self.model = model
        self.v_shaped = v_shaped
        self._head = (LIGHTEST_HEAD * head_weight(model), head_pace * head_weight(model))
        self._totals: dict[tuple[int, int], tuple[Totals, ...]] = {}
        self._counts: dict[tuple[int, bytes], Integers] = {}
        self._bubbles: dict[tuple[int, int, int, int, bool], float] = {}

    def totals(self, pp: int, vpp: int) -> tuple[Totals, ...]:
        """The placements 1, 2, ... of a pipeline."""
        key = pp, vpp
        if key not in self._totals:
            self._totals[key] = tuple(self._others(pp, vpp)) if self._several(pp, vpp) else ()
        return self._totals[key]

    def count(self, pp: int, vpp: int) -> int:
        """How many placements a pipeline has; 1 where its layers do not fill it."""
        return 1 + len(self.totals(pp, vpp))

    def counts(self, pp: Integers, vpp: Integers) -> Integers:
        """`count` of columns."""
        wide = int(vpp.max(initial=0)) + 1
        code = pp * wide + vpp
        used = np.flatnonzero(np.bincount(code))
        found = np.zeros(int(code.max(initial=0)) + 1, dtype=np.int64)
        key = wide, used.tobytes()
        if key not in self._counts:
            each = [self.count(*divmod(one, wide)) for one in used.tolist()]
            self._counts = {key: np.asarray(each, dtype=np.int64)}
        found[used] = self._counts[key]
        return np.asarray(found[code])

    def most(self, pp: Iterable[int], vpp: Iterable[int]) -> int:
        """The largest `count` of these degrees together."""
        return max(self.count(*pair) for pair in product(pp, vpp))

    def split(self, pp: int, vpp: int, place: int) -> Split:
        """A placement by its number."""
        totals = self.totals(pp, vpp)[place - 1] if place else None
        return placed(self.model, self.v_shaped, pp, vpp, totals)

    def bubble(self, pp: int, vpp: int, place: int, microbatches: int, recomputes: bool) -> float:
        """The time of a step in 1F1B beside the passes of its slowest rank, over the vpp-th part of what the
        other ranks take: 1 where chunks are equal. By FLOP, forward and backward 1 : 2, or 1 : 3 where
        forward passes are `recomputed`."""
        key = pp, vpp, place, microbatches, recomputes
        if key not in self._bubbles:
            ranks = self.totals(pp, vpp)[place - 1] if place else None
            args = self.model, self.v_shaped, pp, vpp, ranks, microbatches, recomputes
            self._bubbles[key] = bubble(*args) if pp > 1 else 1.0
        return self._bubbles[key]

    def number(self, pp: int, vpp: int, counts: Sequence[int]) -> int:
        """The placement that has these layers in its chunks, in model order; 0 where none has."""
        wanted = tuple(counts)
        for place, totals in enumerate(self.totals(pp, vpp), 1):
            if dealt(totals.ranks(pp), vpp) == wanted:
                return place
        return 0

    def _several(self, pp: int, vpp: int) -> bool:
        return pp > 1 and pp * vpp <= min(self.model.layers, MOST_STAGES) and not self.v_shaped

    @property
    def heaviest_head(self) -> float:
        """The most layers' time that the head may take."""
        return self._head[1]

    @cached_property
    def leading(self) -> int:
        """Dense layers in front of layers with experts."""
        return dense_blocks(self.model) if self.model.moe else 0

    def _others(self, pp: int, vpp: int) -> Iterator[Totals]:
        """Without the even one. Of all chunks only the model's first and last may be empty, and all leading
        dense layers are in the first."""
        even, seen = self._even_totals(pp, vpp), set()
        for found in self._candidates(pp, vpp):
            ranks = found.ranks(pp)
            enough = min(ranks[1:-1], default=vpp) >= vpp and ranks[0] // vpp >= self.leading
            if enough and ranks != even and ranks not in seen:
                seen.add(ranks)
                yield found

    def _candidates(self, pp: int, vpp: int) -> Iterator[Totals]:
        """Placements in which of short inner ranks a third may give a layer more, to as many that then are
        long."""
        layers, inner, least = self.model.layers, pp - 2, vpp - 1
        lightest, heaviest = math.floor(self._head[0]), math.ceil(self._head[1]) + 1
        for most in range(-(-layers // pp), -(-(layers + heaviest) // pp) + 2):
            for last in range(max(least, most - heaviest), max(least, most - lightest) + 1):
                for first in range(most + self.leading, max(least, most - LESS_ON_FIRST) - 1, -1):
                    long = layers - first - last - inner * (most - 1)
                    if inner and 0 < long <= inner:
                        yield Totals(first, most, long, last)
                        more = (inner - long) // 3
                        yield Totals(first, most, long + more, last, more)
                    elif not inner and first + last == layers:
                        yield Totals(first, first, 0, last)

    def even(self, pp: int, vpp: int) -> tuple[int, int, int, int]:
        """Layers of the chunks of the even placement, as `even_chunks.py:Runs` has them: in the first, in
        each of the next longer ones, how many these are, and in the last."""
        model = self.model
        runs = even_runs(model.layers, np.array([pp * vpp]), head_weight(model), light_first(model))
        return int(runs.first[0]), int(runs.more[0]), int(runs.longer[0]), int(runs.last[0])

    def _even_totals(self, pp: int, vpp: int) -> tuple[int, ...]:
        """Layers of each rank in the even placement."""
        first, more, longer, last = self.even(pp, vpp)
        long = [len(range(rank or pp, longer + 1, pp)) for rank in range(pp)]
        inner = [count + vpp * (more - 1) for count in long[1:-1]]
        ends = long[0] + (vpp - 1) * (more - 1) + first, long[-1] + (vpp - 1) * (more - 1) + last
        return (ends[0], *inner, ends[1])


def placed(model: Model, v_shaped: bool, pp: int, vpp: int, totals: Totals | None) -> Split:
    """The placement of these totals, the even one of None."""
    if totals is None:
        return split(model, pp, vpp, v_shaped)
    return ranks_of(model, dealt(totals.ranks(pp), vpp), pp)


@lru_cache(maxsize=2**14)
def bubble(
    model: Model,
    v_shaped: bool,
    pp: int,
    vpp: int,
    totals: Totals | None,
    microbatches: int,
    recomputes: bool,
) -> float:
    """`Placements.bubble` of a pipeline; targets with the same model share it."""
    made = _kept_ranks if pp * vpp <= FEW_STAGES else _ranks
    ranks = made(model, v_shaped, pp, vpp, totals, int(group(pp, microbatches)), recomputes)
    slowest = max(ranks.slots)
    others = sum(ranks.slots) - slowest
    chain = Chains(ranks, microbatches).longest
    return (chain - microbatches * slowest) * vpp / others if others else 1.0


def _ranks(
    model: Model,
    v_shaped: bool,
    pp: int,
    vpp: int,
    totals: Totals | None,
    group: int,
    recomputes: bool,
) -> Ranks:
    """The passes of a pipeline's ranks, in parts of a layer."""
    forward = _forward(model, placed(model, v_shaped, pp, vpp, totals))
    backward = [[(2 + recomputes) * time for time in rank] for rank in forward]
    return Ranks(forward, backward, group)


_kept_ranks = lru_cache(maxsize=2**12)(_ranks)


def _forward(model: Model, placement: Split) -> list[list[int]]:
    """Forward passes by rank and chunk, in parts of a layer."""
    weight = round(LAYER * dense_weight(model))
    times = [[dense * weight + moe * LAYER for dense, moe in rank] for rank in placement.blocks]
    times[0 if placement.v_shaped else -1][-1] += round(LAYER * head_weight(model))
    return times


def dealt(totals: tuple[int, ...], vpp: int) -> tuple[int, ...]:
    """Layers of each chunk in model order. A rank's chunks differ by at most one layer: the larger are the
    last on the first rank and the first elsewhere, so that embedding and head join the smallest."""
    pp = len(totals)
    counts = [0] * (pp * vpp)
    for rank, total in enumerate(totals):
        share, surplus = divmod(total, vpp)
        rich = range(vpp - surplus, vpp) if rank == 0 else range(surplus)
        for chunk in range(vpp):
            counts[chunk * pp + rank] = share + (1 if chunk in rich else 0)
    return tuple(counts)
