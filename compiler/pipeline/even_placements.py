"""A model -> the chunks of its even placements, each worked out once for all terms that ask for it."""

from __future__ import annotations

from ...dsl.arrays import np
from ...dsl.model import Model
from ..algebra import Integers
from .even_chunks import EvenChunks, Groups, even_chunks, even_runs
from .even_split import dense_blocks, head_weight, light_first

#: Above any number of virtual chunks per rank.
WIDE = 2**32


class EvenPlacements:
    """The even placements of a model that were asked for so far. Rows of columns `pp` and `vpp` are asked
    for, which the model's layers fill."""

    def __init__(self, model: Model, v_shaped: bool = False):
        self._model, self._v_shaped = model, v_shaped
        self._keys = np.zeros(0, dtype=np.int64)
        self._places = np.zeros(0, dtype=np.int64)
        self._chunks: EvenChunks | None = None

    def held(self, role: str, pp: Integers, vpp: Integers) -> Groups:
        """The chunks that ranks of a role have."""
        chunks, rows = self._at(pp, vpp)
        return chunks.held[role].rows(rows)

    def paced(self, role: str, pp: Integers, vpp: Integers) -> Groups:
        """The chunks that determine the time of ranks of a role."""
        chunks, rows = self._at(pp, vpp)
        return chunks.paced[role].rows(rows)

    def whole(self, pp: Integers, vpp: Integers) -> Groups:
        """The chunks of all ranks."""
        chunks, rows = self._at(pp, vpp)
        return chunks.whole.rows(rows)

    def _at(self, pp: Integers, vpp: Integers) -> tuple[EvenChunks, Integers]:
        """The placements that are known, and which of them each row asks for."""
        keys = pp * WIDE + vpp
        rows = np.searchsorted(self._keys, keys)
        known = (
            self._keys[np.minimum(rows, len(self._keys) - 1)] == keys if len(self._keys) else False
        )
        if self._chunks is None or not np.all(known):
            chunks = self._learn(np.setdiff1d(keys, self._keys))
            return chunks, self._places[np.searchsorted(self._keys, keys)]
        return self._chunks, self._places[rows]

    def _learn(self, keys: Integers) -> EvenChunks:
        """All placements that are known, those of new keys too."""
        model, (pp, vpp) = self._model, np.divmod(keys, WIDE)
        runs = even_runs(model.layers, pp * vpp, head_weight(model), light_first(model))
        chunks = even_chunks(runs, dense_blocks(model), pp, self._v_shaped)
        self._chunks = self._chunks.joined(chunks) if self._chunks else chunks
        both = np.concatenate([self._keys, keys])
        places = np.concatenate([self._places, np.arange(len(self._keys), len(both))])
        order = np.argsort(both)
        self._keys, self._places = both[order], places[order]
        return self._chunks
