"""Even placements of layers, thousands at once -> the layers of each chunk.

An even placement has at most four runs of like chunks in model order: the first, those with a layer more,
those with a layer less, the last.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ...dsl.arrays import np
from ..algebra import Integers


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

    def column(self) -> Runs:
        """These runs with an axis more, for what is asked of several chunks."""
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
