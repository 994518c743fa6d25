"""Placements -> what their ranks hold, as columns: of each role a rank that stands for all that are like it.

A pipeline has a first rank, a last one, and inner ones of a few kinds, which differ in their layers: ranks of
a kind take equally long, and the one of them with most micro-batches in flight is at either end of the kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ...dsl.arrays import np
from ..algebra import Integers
from .even_split import fills_stages
from .placements import Placements

#: Roles of ranks: the ends, and kinds of inner ranks in their order.
FIRST, LAST = "first", "last"
INNER = ("inner1", "inner2", "inner3", "inner4")
ROLES = (FIRST, *INNER, LAST)
#: Kinds of inner ranks where all layers are alike: of the most layers, of one less and of two less.
ALIKE = 3
#: Kinds of chunks that a rank may have, by their dense and MoE blocks: shorter and longer ones and one at an
#: end, and in front of layers with experts dense ones, one of both, and the first.
ALIKE_CHUNKS, KINDS_OF_CHUNKS = 3, 6
#: Above any number of virtual stages of a rank, and of placements.
WIDE = 2**24

Chunk = tuple[int, int]


class Kind(NamedTuple):
    """Ranks from `low` to `high` with like chunks, `many` in all."""

    low: int
    high: int
    many: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Held:
    """Ranks of a role, rows: from `low` to `high`, `many` in all; of their kinds of chunks, on the last axis,
    how `often` a rank has each and its `dense` and `moe` blocks."""

    low: Integers
    high: Integers
    many: Integers
    often: Integers
    dense: Integers
    moe: Integers

    @property
    def blocks(self) -> tuple[Integers, Integers]:
        """Dense and MoE blocks of a rank."""
        return (self.often * self.dense).sum(axis=-1), (self.often * self.moe).sum(axis=-1)

    def recomputed(self, layers: Integers) -> tuple[Integers, Integers]:
        """Dense and MoE blocks among the leading `layers` of each chunk, all of them where 0."""
        whole = self.dense + self.moe
        asked = layers[:, np.newaxis]
        chosen = np.where(asked == 0, whole, np.minimum(asked, whole))
        dense = np.minimum(chosen, self.dense)
        return (self.often * dense).sum(axis=-1), (self.often * (chosen - dense)).sum(axis=-1)


class RankTable:
    """The ranks of placements that were asked for so far, by pipeline and number."""

    def __init__(self, placements: Placements, inner: int):
        self._placements = placements
        self._roles = (FIRST, *INNER[:inner], LAST)
        self._chunks = ALIKE_CHUNKS if inner == ALIKE else KINDS_OF_CHUNKS
        self._keys = np.zeros(0, dtype=np.int64)
        self._columns = {role: Held(*_columns([], self._chunks)) for role in self._roles}

    def held(self, role: str, pp: Integers, vpp: Integers, place: Integers) -> Held:
        """The load of ranks of a role, by row of columns of equal length."""
        keys = (pp * WIDE + vpp) * WIDE + place
        rows = self._rows(keys)
        if rows is None:
            self._learn(np.setdiff1d(keys, self._keys))
            rows = np.searchsorted(self._keys, keys)
        known = self._columns[role]
        return Held(*(getattr(known, name)[rows] for name in Held.__dataclass_fields__))

    def _rows(self, keys: Integers) -> Integers | None:
        """Where keys are; None where one is not known."""
        if not len(self._keys):
            return None
        rows = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return rows if np.array_equal(self._keys[rows], keys) else None

    def _learn(self, keys: Integers) -> None:
        pipelines, places = np.divmod(keys, WIDE)
        pp, vpp = np.divmod(pipelines, WIDE)
        found: dict[str, list[Kind]] = {role: [] for role in self._roles}
        for each in zip(pp.tolist(), vpp.tolist(), places.tolist(), strict=True):
            for role, kind in self._by_role(*each).items():
                found[role].append(kind)
        both = np.concatenate([self._keys, keys])
        order = np.argsort(both)
        self._keys = both[order]
        for role, kinds in found.items():
            old, new = self._columns[role], _columns(kinds, self._chunks)
            names = Held.__dataclass_fields__
            whole = [
                np.concatenate([getattr(old, name), column])[order]
                for name, column in zip(names, new, strict=True)
            ]
            self._columns[role] = Held(*whole)

    def _by_role(self, pp: int, vpp: int, place: int) -> dict[str, Kind]:
        first, *inner, last = self._kinds(pp, vpp, place)
        if pp == 1:
            first = first._replace(many=0, chunks=())
        spare = last._replace(many=0, chunks=())
        missing = len(self._roles) - 2 - len(inner)
        assert missing >= 0, f"{len(inner)} kinds of inner ranks"
        return dict(zip(self._roles, [first, *inner, *[spare] * missing, last], strict=True))

    def _kinds(self, pp: int, vpp: int, place: int) -> list[Kind]:
        """The kinds of the first rank, of inner ones, and of the last; without layers where they do not fill
        the stages, which no allowed layout has."""
        if not fills_stages(self._placements.model, pp, vpp):
            return [Kind(0, 0, 0, ())] * 2
        if place:
            return self._of_totals(pp, vpp, place)
        if not (self._placements.leading or self._placements.v_shaped):
            return self._even(pp, vpp)
        blocks = self._placements.split(pp, vpp, place).blocks
        first, last = (Kind(rank, rank, 1, blocks[rank]) for rank in (0, pp - 1))
        return [first, *_alike(enumerate(blocks[1:-1], 1)), last]

    def _even(self, pp: int, vpp: int) -> list[Kind]:
        """The kinds of the even placement, where all layers are alike: the longer chunks are in front.
        Without a list of all chunks, of which there may be thousands."""
        model = self._placements.model
        first, more, longer, last = self._placements.even(pp, vpp)
        if pp == 1:
            return [Kind(0, 0, 1, _blocks([first], model.moe))] * 2
        rounds, ahead = divmod(longer, pp)
        found = [Kind(0, 0, 1, _blocks(_dealt(vpp - 1, rounds, more, first), model.moe))]
        for low, high, long in ((1, min(ahead, pp - 2), rounds + 1), (ahead + 1, pp - 2, rounds)):
            if low <= high:
                chunks = _blocks(_dealt(vpp, long, more), model.moe)
                found.append(Kind(low, high, high - low + 1, chunks))
        long = (longer + 1) // pp
        own = _blocks(_dealt(vpp - 1, long, more, last), model.moe)
        return [*found, Kind(pp - 1, pp - 1, 1, own)]

    def _of_totals(self, pp: int, vpp: int, place: int) -> list[Kind]:
        """Without a list of all ranks, of which there may be hundreds."""
        totals = self._placements.totals(pp, vpp)[place - 1]
        leading, moe = self._placements.leading, self._placements.model.moe
        kinds, low = list[Kind](), 0
        for many, layers in ((1, totals.first), *totals.inner(pp), (1, totals.last)):
            kinds.append(Kind(low, low + many - 1, many, _chunks(layers, vpp, moe)))
            low += many
        (dense, routed), *others = sorted(kinds[0].chunks)
        chunks = ((dense + leading, routed - leading), *others) if leading else kinds[0].chunks
        return [kinds[0]._replace(chunks=chunks), *kinds[1:]]


def _chunks(layers: int, vpp: int, moe: bool) -> tuple[Chunk, ...]:
    """The chunks of a rank, which differ by at most one layer."""
    share, surplus = divmod(layers, vpp)
    return _blocks([share] * (vpp - surplus) + [share + 1] * surplus, moe)


def _dealt(chunks: int, long: int, more: int, *end: int) -> list[int]:
    """Layers of so many chunks, `long` of them with `more`, the others with one less, and of one more."""
    return [*[more] * long, *[more - 1] * (chunks - long), *end]


def _blocks(counts: list[int], moe: bool) -> tuple[Chunk, ...]:
    return tuple((0, count) if moe else (count, 0) for count in counts)


def _alike(ranks: Iterable[tuple[int, tuple[Chunk, ...]]]) -> Iterator[Kind]:
    """Neighbours with like chunks as one kind."""
    for chunks, alike in groupby(ranks, key=lambda each: tuple(sorted(each[1]))):
        numbers = [rank for rank, _ in alike]
        yield Kind(numbers[0], numbers[-1], len(numbers), chunks)


def _columns(kinds: list[Kind], most: int) -> list[Integers]:
    """The columns of `Held`, for at most so many kinds of chunks."""
    ends = np.array([kind[:3] for kind in kinds], dtype=np.int64).reshape(-1, 3).T
    chunks = np.zeros((3, len(kinds), most), dtype=np.int64)
    for row, kind in enumerate(kinds):
        for column, chunk in enumerate(sorted(set(kind.chunks))):
            chunks[:, row, column] = kind.chunks.count(chunk), *chunk
    return [*ends, *chunks]
