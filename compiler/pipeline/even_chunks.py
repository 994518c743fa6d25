"""Even placements of layers, thousands at once -> the chunks of a pipeline's ranks as groups of like ones.

An even placement has at most six runs of like chunks in model order: the first, those with a layer more,
those with a layer less, the last, and the chunk in which experts begin cuts one of them. What a rank holds
follows from the runs alone, however many layers, ranks and chunks there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ...dsl.arrays import np
from ..algebra import Integers, Mask

ROLES = ("first", "middle", "last")


@dataclass(frozen=True)
class Runs:
    """Layers of the virtual chunks of placements, in model order: `first` in the first chunk, `more` in each
    of the next `longer`, one less in the others, `last` in the last of `chunks`."""

    chunks: Integers
    first: Integers
    more: Integers
    longer: Integers
    last: Integers

    def layers(self, chunk: Integers) -> Integers:
        """The layers of a chunk by its index."""
        inner = np.where(chunk <= self.longer, self.more, self.more - 1)
        end = np.where(chunk == self.chunks - 1, self.last, inner)
        return np.where(chunk == 0, self.first, end)

    def before(self, chunk: Integers) -> Integers:
        """The layers of all chunks before one of them."""
        inner = chunk - 1
        layers = self.first + inner * (self.more - 1) + np.minimum(inner, self.longer)
        return np.where(chunk == 0, 0, layers)

    def holding(self, layer: int) -> Integers:
        """The chunk of a layer, where it is neither in the first nor in the last."""
        inner = np.maximum(layer - self.first, 0)
        longer = inner // np.maximum(self.more, 1)
        shorter = (inner - self.longer * self.more) // np.maximum(self.more - 1, 1)
        return np.where(longer < self.longer, longer, self.longer + shorter) + 1

    def column(self) -> Runs:
        """The same with an axis more, for what is asked of several chunks."""
        return Runs(*(getattr(self, each.name)[:, np.newaxis] for each in fields(self)))


def even_runs(layers: int, chunks: Integers, last_weight: float, light_first: bool) -> Runs:
    """The placement of `layers` on each number of `chunks`, between 1 and layers + 2, such that the largest
    load of a chunk is least; the head counts as `last_weight` layers.

    Spare capacity is taken round by round: from the first chunk (the embedding's memory), then the last, then
    from the end backwards; from the first chunk after all others where its layers are lighter
    (`light_first`). Only the end chunks may be empty.
    """
    several = np.maximum(chunks, 2)
    cap, last_cap = _capacities(layers, several, last_weight)
    spare = cap * (several - 1) + last_cap - layers
    together = np.minimum(spare // several, np.minimum(last_cap, cap - 1))
    spare = spare - several * together
    emptied = last_cap <= together
    others = np.where(emptied, np.minimum(spare // (several - 1), cap - 1 - together), 0)
    spare = spare - (several - 1) * others
    more, last = cap - together - others, np.maximum(last_cap - together - others, 0)
    most = {"first": 1, "last": np.minimum(last, 1), "inner": np.where(more > 1, several - 2, 0)}
    taken: dict[str, Integers] = {}
    for place in ("last", "inner", "first") if light_first else ("first", "last", "inner"):
        taken[place] = np.minimum(spare, most[place])
        spare = spare - taken[place]
    one = chunks == 1
    return Runs(
        chunks,
        np.where(one, layers, more - taken["first"]),
        more,
        np.where(one, 0, several - 2 - taken["inner"]),
        np.where(one, layers, last - taken["last"]),
    )


def _capacities(layers: int, chunks: Integers, last_weight: float) -> tuple[Integers, Integers]:
    """Most layers of a chunk, and of the last, under the smallest limit on their load that leaves room for
    all layers."""
    even, part = layers // chunks, last_weight % 1
    cap = np.full_like(chunks, layers)
    last = np.full_like(chunks, max(0, int(layers - last_weight + 1e-9)))
    for limit in (even + 2, even + 1 + part, even + 1, even + part, even):
        most = np.asarray(limit, dtype=np.int64)
        room = np.maximum(np.floor(limit - last_weight + 1e-9), 0).astype(np.int64)
        enough = most * (chunks - 1) + room >= layers
        cap, last = np.where(enough, most, cap), np.where(enough, room, last)
    return cap, last


@dataclass(frozen=True)
class Groups:
    """Groups of like chunks, on the last axis: how `many` there are, of so many `dense` and `moe` blocks."""

    many: Integers
    dense: Integers
    moe: Integers

    @property
    def blocks(self) -> tuple[Integers, Integers]:
        """Dense and MoE blocks of all chunks."""
        return self._sum(self.dense), self._sum(self.moe)

    def recomputed(self, layers: Integers) -> tuple[Integers, Integers]:
        """Dense and MoE blocks among the leading `layers` of each chunk, all of them when 0."""
        whole = self.dense + self.moe
        chosen = np.where(layers == 0, whole, np.minimum(layers, whole))
        dense = np.minimum(chosen, self.dense)
        return self._sum(dense), self._sum(chosen - dense)

    def rows(self, rows: Integers) -> Groups:
        """Those of some placements."""
        return Groups(self.many[rows], self.dense[rows], self.moe[rows])

    def joined(self, other: Groups) -> Groups:
        """Those of more placements; groups of no chunks fill the shorter axis."""
        return Groups(
            *(_stacked(*pair) for pair in zip(_columns(self), _columns(other), strict=True))
        )

    def _sum(self, blocks: Integers) -> Integers:
        return np.asarray((self.many * blocks).sum(axis=-1))


def _columns(groups: Groups) -> tuple[Integers, Integers, Integers]:
    return groups.many, groups.dense, groups.moe


def _stacked(above: Integers, below: Integers) -> Integers:
    size = max(above.shape[-1], below.shape[-1])
    still = [(0, 0)] * (above.ndim - 1)
    parts = [np.pad(each, [*still, (0, size - each.shape[-1])]) for each in (above, below)]
    return np.concatenate(parts)


@dataclass(frozen=True)
class EvenChunks:
    """Groups of chunks of many placements, rows: of the `whole` pipeline; by role those that ranks have
    (`held`) and those that determine their time (`paced`), by candidate for the fullest rank of the role.
    """

    whole: Groups
    held: Mapping[str, Groups]
    paced: Mapping[str, Groups]

    def joined(self, other: EvenChunks) -> EvenChunks:
        """Those of more placements."""
        return EvenChunks(
            self.whole.joined(other.whole),
            {role: self.held[role].joined(other.held[role]) for role in ROLES},
            {role: self.paced[role].joined(other.paced[role]) for role in ROLES},
        )


def even_chunks(runs: Runs, leading: int, pp: Integers, v_shaped: bool = False) -> EvenChunks:
    """The chunks of placements on `pp` ranks, chunk k on rank k % pp, or every other time on rank
    pp - 1 - k % pp (`v_shaped`), where the `leading` layers are dense and all others MoE."""
    pp = pp[:, np.newaxis]
    cut = _Cut(runs, leading, v_shaped)
    held = {role: cut.of_ranks(pp, _ranks(role, cut, pp)) for role in ROLES}
    paced = held if v_shaped else {role: _paced(role, held[role], cut, pp) for role in ROLES}
    return EvenChunks(Groups(np.diff(cut.edges), cut.dense, cut.moe), held, paced)


class _Cut:
    """The chunks of placements cut where their blocks change: `edges` by placement, and the blocks of each
    chunk between one and the next."""

    def __init__(self, runs: Runs, leading: int, v_shaped: bool):
        self.v_shaped = v_shaped
        chunks, mixed = runs.chunks, runs.holding(leading)
        inner = [np.ones_like(chunks), runs.longer + 1, chunks - 1, mixed, mixed + 1]
        edges = np.stack([np.zeros_like(chunks), *inner, chunks], axis=-1)
        self.edges = np.sort(np.clip(edges, 0, chunks[:, np.newaxis]))
        self.chunks = chunks[:, np.newaxis]
        begins, wide = self.edges[:, :-1], runs.column()
        layers = wide.layers(begins)
        self.dense = np.clip(leading - wide.before(begins), 0, layers)
        self.moe = layers - self.dense

    def of_ranks(self, pp: Integers, ranks: Integers) -> Groups:
        """The chunks of ranks, by placement and candidate."""
        pp, ranks = pp[..., np.newaxis], ranks[..., np.newaxis]
        edges = self.edges[:, np.newaxis]
        if self.v_shaped:
            down, up = (
                (edges - each + 2 * pp - 1) // (2 * pp) for each in (ranks, 2 * pp - 1 - ranks)
            )
            many = np.diff(down + up)
        else:
            many = np.diff((edges - ranks + pp - 1) // pp)
        return Groups(many, *(self._beside(blocks, many) for blocks in (self.dense, self.moe)))

    def _beside(self, blocks: Integers, many: Integers) -> Integers:
        return np.broadcast_to(blocks[:, np.newaxis], many.shape)

    def heaviest(self, pp: Integers) -> Groups:
        """The chunk with most layers of each chunk index; among equals that with most MoE blocks."""
        index = np.arange(int((self.chunks // pp).max(initial=1)))[:, np.newaxis]
        begins, ends = self.edges[:, np.newaxis, :-1], self.edges[:, np.newaxis, 1:]
        low, pp = index * pp[..., np.newaxis], pp[..., np.newaxis]
        here = (begins < ends) & (begins < low + pp) & (ends > low)
        base = int(self.moe.max(initial=0)) + 1
        weight = (self.dense + self.moe) * base + self.moe
        layers, moe = np.divmod(np.max(np.where(here, weight[:, np.newaxis], 0), axis=-1), base)
        return Groups(np.asarray(here.any(axis=-1), dtype=np.int64), layers - moe, moe)


def _ranks(role: str, cut: _Cut, pp: Integers) -> Integers:
    """Ranks of a role that have among them every load of it, by placement; with one or two ranks roles
    coincide. Between the ends loads change only at the ranks where a run of chunks begins."""
    if role != "middle":
        return np.zeros_like(pp) if role == "first" else pp - 1
    begins = cut.edges[:, 1:-1] % (2 * pp if cut.v_shaped else pp)
    begins = np.where(begins < pp, begins, 2 * pp - begins)
    inner = np.where((begins > 0) & (begins < pp - 1), begins, 1)
    return np.where(pp > 2, inner, pp - 1)


def _paced(role: str, held: Groups, cut: _Cut, pp: Integers) -> Groups:
    """The chunks that determine a rank's time, as `even_split.py:Split.paced` has them."""
    paced = cut.heaviest(pp)
    index = np.arange(paced.many.shape[-1])
    own: Mask
    if role == "first":
        own, edge = np.broadcast_to(index == 0, paced.many.shape), np.zeros_like(pp)
    else:
        at_end = (index == cut.chunks // pp - 1) & ((pp <= 2) | (role == "last"))
        own, edge = at_end, cut.chunks - 1
    last = (cut.edges[:, :-1] <= edge) & (edge < cut.edges[:, 1:])
    dense, moe = ((blocks * last).sum(axis=-1)[:, np.newaxis] for blocks in (cut.dense, cut.moe))
    mine = Groups(paced.many, np.where(own, dense, paced.dense), np.where(own, moe, paced.moe))
    candidates = Groups(*(each[:, np.newaxis] for each in _columns(mine)))
    return _chosen((cut.chunks == pp)[..., np.newaxis], held, candidates)


def _chosen(where: Mask, left: Groups, right: Groups) -> Groups:
    """The left groups in some placements, the right ones in the others."""
    found = []
    for one, other in zip(_columns(left), _columns(right), strict=True):
        size = max(one.shape[-1], other.shape[-1])
        one, other = (
            np.pad(each, [(0, 0), (0, 0), (0, size - each.shape[-1])]) for each in (one, other)
        )
        found.append(np.where(where, one, other))
    return Groups(*found)
