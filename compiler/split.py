"""How many layers each pipeline rank holds: the first, even placement that the layout search assumes.

`stages.py` then improves the placement of the chosen layout. Ranks are priced by role: the first (embedding, most
micro-batches in flight), the middle (the most that any of them holds) and the last (head and loss).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ..dsl.job import Model
from . import parameters

ROLES = ("first", "middle", "last")


@cache
def head_weight(model: Model) -> float:
    """Work of the head (and MTP layers) after the last block, in units of one block: ratio of multiplied parameters."""
    block = parameters.moe_layer(model) if model.moe else parameters.dense_layer(model)
    experts = block.experts * model.topk / model.experts if model.moe else 0
    per_token = block.sharded + block.replicated + experts
    return model.hidden * model.vocab * (1 + model.mtp_layers) / per_token + model.mtp_layers


@cache
def chunk_layers(layers: int, chunks: int, last_weight: float) -> tuple[int, ...]:
    """Layers of each virtual chunk in model order, so that the heaviest (head counted as `last_weight` layers) is lightest.

    Spare places are taken from the first chunk (the embedding's memory), then the last, then from the end backwards.
    Only the end chunks may be empty.
    """
    if chunks == 1:
        return (layers,)
    caps = _capacities(layers, chunks, last_weight)
    spare = sum(caps) - layers
    order = [0, chunks - 1, *range(chunks - 2, 0, -1)]
    while spare > 0:
        before = spare
        for chunk in order:
            if spare and caps[chunk] > (0 if chunk in (0, chunks - 1) else 1):
                caps[chunk] -= 1
                spare -= 1
        if spare == before:
            raise ValueError(f"{layers} layers do not fill {chunks} chunks")
    return tuple(caps)


def _capacities(layers: int, chunks: int, last_weight: float) -> list[int]:
    """Layers that fit each chunk below the smallest limit under which all of them fit."""
    whole = layers // chunks
    limits = sorted({whole + k for k in range(3)} | {whole + k + last_weight % 1 for k in range(2)})
    for limit in (*limits, float(layers)):
        caps = [int(limit)] * (chunks - 1) + [max(0, int(limit - last_weight + 1e-9))]
        if sum(caps) >= layers:
            return caps
    raise ValueError(f"{layers} layers do not fill {chunks} chunks")


@dataclass(frozen=True)
class Split:
    """Layer counts by pipeline rank: dense and MoE blocks, and the layers of each virtual chunk."""

    chunks: tuple[tuple[int, ...], ...]
    dense: tuple[int, ...]
    moe: tuple[int, ...]

    def ranks(self, role: str) -> tuple[int, ...]:
        """The ranks that a role stands for, one of each kind; with one or two ranks the roles coincide."""
        last = len(self.chunks) - 1
        if role != "middle" or last < 2:
            return (0,) if role == "first" else (last,)
        kinds = {
            (self.dense[rank], self.moe[rank], self.chunks[rank]): rank
            for rank in range(last - 1, 0, -1)
        }
        return tuple(sorted(kinds.values()))


def ranks_of(model: Model, counts: tuple[int, ...], pp: int) -> Split:
    """Deal chunks (model order, chunk k on rank k % pp) to ranks and count kinds of blocks."""
    leading = model.dense_layers if model.moe else model.layers
    dense, moe, begin = [0] * pp, [0] * pp, 0
    chunks: list[list[int]] = [[] for _ in range(pp)]
    for index, count in enumerate(counts):
        leads = max(0, min(begin + count, leading) - begin)
        dense[index % pp] += leads
        moe[index % pp] += count - leads
        chunks[index % pp].append(count)
        begin += count
    return Split(tuple(map(tuple, chunks)), tuple(dense), tuple(moe))


@cache
def split(model: Model, pp: int, vpp: int) -> Split:
    """The even placement for a pipeline of pp ranks with vpp chunks each."""
    return ranks_of(model, chunk_layers(model.layers, pp * vpp, head_weight(model)), pp)
