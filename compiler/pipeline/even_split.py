"""A model and its pipeline -> the even placement of layers on ranks.

`placements.py` has the others that the search chooses from.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from ...dsl.arrays import choose, np
from ...dsl.model import Model
from ..algebra import Column
from ..model import parameters
from .even_chunks import even_runs


@lru_cache(maxsize=64)
def head_weight(model: Model) -> float:
    """FLOP of the head (and MTP layers) in units of one block, as the ratio of the parameters that a token is
    multiplied with."""
    head = model.hidden * model.vocab * (1 + model.mtp_layers) / _per_token(model, model.moe)
    return head + model.mtp_layers


@lru_cache(maxsize=64)
def dense_weight(model: Model) -> float:
    """FLOP of a dense block in units of one block of the last layers."""
    return _per_token(model, False) / _per_token(model, model.moe)


def _per_token(model: Model, moe: bool) -> float:
    """Parameters of a block that a token is multiplied with."""
    block = parameters.moe_layer(model) if moe else parameters.dense_layer(model)
    experts = block.experts * model.topk / model.experts if moe else 0
    return block.sharded + block.replicated + experts


def light_first(model: Model) -> bool:
    """Whether the layers at the front are lighter: dense ones before experts wait for no exchange of tokens,
    so that the first chunk keeps more of them."""
    return model.moe and model.dense_layers > 0


def dense_blocks(model: Model) -> int:
    """Leading blocks with a dense feed-forward."""
    return model.dense_layers if model.moe else model.layers


def chunk_layers(
    layers: int, chunks: int, last_weight: float, light_first: bool = False
) -> tuple[int, ...]:
    """Layers of each virtual chunk in model order, as `even_chunks.py:even_runs` places them.

    Raises ValueError when layers do not fill the chunks.
    """
    if chunks > layers + 2:
        raise ValueError(f"{layers} layers do not fill {chunks} chunks")
    runs = even_runs(layers, np.array([chunks]), last_weight, light_first)
    return tuple(runs.column().layers(np.arange(chunks))[0].tolist())


@dataclass(frozen=True)
class Split:
    """A placement: `blocks[rank][chunk]` is (dense, MoE), the number of blocks in a virtual chunk. `v_shaped`
    says that odd chunks go from the last rank to the first."""

    blocks: tuple[tuple[tuple[int, int], ...], ...]
    v_shaped: bool = False

    @cached_property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Layers of each chunk by rank."""
        return tuple(tuple(sum(chunk) for chunk in rank) for rank in self.blocks)

    def held(self, rank: int) -> tuple[int, int]:
        """Dense and MoE blocks of a rank."""
        return summed(self.blocks[rank])


def summed(chunks: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Dense and MoE blocks of all chunks."""
    return sum(chunk[0] for chunk in chunks), sum(chunk[1] for chunk in chunks)


def recomputed(chunks: tuple[tuple[int, int], ...], recompute: int, layers: int) -> tuple[int, int]:
    """Dense and MoE blocks that full recomputation (`recompute` 2) covers: the leading `layers` of each
    chunk, all of them when 0."""
    if recompute != 2:
        return 0, 0
    chosen = [min(layers or sum(chunk), sum(chunk)) for chunk in chunks]
    dense = sum(min(count, chunk[0]) for count, chunk in zip(chosen, chunks, strict=True))
    return dense, sum(chosen) - dense


def ranks_of(model: Model, counts: tuple[int, ...], pp: int, v_shaped: bool = False) -> Split:
    """The placement of `counts` layers per chunk in model order: chunk k is on rank k % pp, or every other
    time on rank pp - 1 - k % pp."""
    chunks = _kinds(counts, dense_blocks(model) if model.moe else sum(counts))
    rows = [chunks[begin : begin + pp] for begin in range(0, len(chunks), pp)]
    if v_shaped:
        rows[1::2] = [row[::-1] for row in rows[1::2]]
    return Split(tuple(zip(*rows, strict=True)), v_shaped)


def _kinds(counts: tuple[int, ...], leading: int) -> list[tuple[int, int]]:
    """Dense and MoE blocks of each chunk in model order, where the `leading` layers are dense. Thousands of
    chunks have few distinct counts, so that equal ones share a pair."""
    ends = list(accumulate(counts))
    mixed = bisect_right(ends, leading)
    dense = {count: (count, 0) for count in set(counts)}
    routed = {count: (0, count) for count in dense}
    chunks = [*map(dense.__getitem__, counts[:mixed]), *map(routed.__getitem__, counts[mixed:])]
    if mixed < len(counts):
        after = ends[mixed] - leading
        chunks[mixed] = (counts[mixed] - after, after)
    return chunks


def fills_stages(model: Model, pp: Column, vpp: Column) -> Column:
    """Whether the model fills pp * vpp virtual stages: each holds a layer, but the first may hold the
    embedding alone and the last the head alone. Without a pipeline there is one stage."""
    most: Column = choose(pp > 1, model.layers + 2, 1)
    return pp * vpp <= most


@lru_cache(maxsize=64)
def split(model: Model, pp: int, vpp: int, v_shaped: bool = False) -> Split:
    """The even placement for a pipeline of pp ranks with vpp chunks each."""
    counts = chunk_layers(model.layers, pp * vpp, head_weight(model), light_first(model))
    even = ranks_of(model, counts, pp, v_shaped)
    # Of thousands of ranks most have the same chunks: they share them.
    shared = {chunks: chunks for chunks in even.blocks}
    return Split(tuple(shared[chunks] for chunks in even.blocks), v_shaped)
