"""How the ranks of context parallelism meet each other's keys and values, which way a layout takes, and the
seconds that it adds to one layer.

Arguments and results are columns, one number per layout. A way is a number of `dsl/exchanges.py:EXCHANGES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...dsl.exchanges import A2A, ALL_GATHER, EXCHANGES, HIERARCHICAL, P2P
from ..algebra import Column
from ..rules.context_heads import inner_ways, possible
from . import attention_core, collectives, kernels

if TYPE_CHECKING:
    from ..algebra import Integers
    from ..case import Case
    from ..traits import Exchange

#: Kernels of one ring hop, and bytes per output element to merge its partial result: read it, read and
#: write the fp32 sum (Transformer Engine, context_parallel.py: flash_attn_fwd_out_correction).
RING_KERNELS, MERGE_BYTES = 4, 10
#: Exchanges of a layer in both directions, in those of its forward pass.
PASSES = 3
#: A later way is taken where attention with all exchanges is faster by more than this share of it, below
#: which differences are within the model's noise.
WORTHWHILE = 0.01


def chosen(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Integers:
    """The way of each layout: the target's first that attention with all exchanges is about fastest with.

    Several terms ask of the same layouts, so the answer is kept with the case.
    """
    shape = np.broadcast(tp, cp, micro_batch).shape
    key = (shape, *(np.asarray(column).tobytes() for column in (tp, cp, micro_batch)))
    if key not in case.exchanges:
        case.exchanges[key] = _chosen(case, tp, cp, micro_batch)
    return case.exchanges[key]


def _chosen(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Integers:
    ways = case.traits.wire.contexts
    if len(ways) == 1 or not _exchanges(cp):
        return np.full(np.broadcast(tp, cp, micro_batch).shape, EXCHANGES[ways[0]])
    priced = [_attention_seconds(case, way, tp, cp, micro_batch) for way in ways]
    allowed = [possible(case.job, way, tp, cp) for way in ways]
    times = [np.where(can, time, np.inf) for can, time in zip(allowed, priced, strict=True)]
    enough = np.minimum.reduce(np.broadcast_arrays(*times)) * (1 + WORTHWHILE)
    found = np.full(enough.shape, EXCHANGES[ways[0]])
    for way, time in reversed(list(zip(ways, times, strict=True))):
        found = np.where(time <= enough, EXCHANGES[way], found)
    return found


def _attention_seconds(case: Case, way: str, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Seconds of a layer's attention with all exchanges of one way, both directions."""
    blocks = _parts_of(case, way, tp, cp)
    busy = attention_core.forward(case, tp, cp, micro_batch, blocks)
    busy = busy + attention_core.backward(case, tp, cp, micro_batch, blocks)
    return busy + PASSES * _seconds_of(case, way, tp, cp, micro_batch, overlaps=True)


def word(case: Case, tp: int, cp: int, micro_batch: int) -> str | None:
    """The way of one layout; None where each rank has whole sequences."""
    if cp == 1:
        return None
    taken = chosen(case, *(np.array([value]) for value in (tp, cp, micro_batch)))
    return list(EXCHANGES)[int(taken[0])]


def parts(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Blocks of keys that a rank's queries meet one after the other."""
    ways = case.traits.wire.contexts
    if len(ways) == 1:
        return _parts_of(case, ways[0], tp, cp)
    if not _exchanges(cp):
        return cp
    taken = chosen(case, tp, cp, micro_batch)
    return _by_way(taken, {way: _parts_of(case, way, tp, cp) for way in ways})


def seconds(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Exposed seconds of one layer's exchange, forward."""
    if not _exchanges(cp):
        return np.zeros(np.broadcast(tp, cp, micro_batch).shape)
    ways, overlaps = case.traits.wire.contexts, case.traits.overlap.context_exchange
    found = {way: _seconds_of(case, way, tp, cp, micro_batch, overlaps) for way in ways}
    if len(ways) == 1:
        return found[ways[0]]
    return _by_way(chosen(case, tp, cp, micro_batch), found)


def _exchanges(cp: Column) -> bool:
    """Whether a layout has ranks that share a sequence."""
    return bool(np.any(np.asarray(cp) > 1))


def _by_way(taken: Integers, values: Mapping[Exchange, Column]) -> Column:
    (_, found), *others = values.items()
    for way, value in others:
        found = np.where(taken == EXCHANGES[way], value, found)
    return found


def _parts_of(case: Case, way: str, tp: Column, cp: Column) -> Column:
    if way == HIERARCHICAL:
        return cp // inner_ways(case.job, tp, cp)
    return cp if way == P2P else 1


def _seconds_of(
    case: Case, way: str, tp: Column, cp: Column, micro_batch: Column, overlaps: bool
) -> Column:
    """All-gather (Llama 3, arXiv 2407.21783, 3.3.2): exposed. a2a (Ulysses, arXiv 2309.14509): all-to-all of
    queries, keys, values and output. Hierarchical (USP, arXiv 2405.07719): both, the ring over what the
    all-to-all leaves."""
    if way == ALL_GATHER:
        return _gathered(case, tp, cp, micro_batch, 1)
    if way == A2A:
        return _exchanged(case, tp, cp, micro_batch, cp)
    if way == P2P:
        return _around(case, tp, cp, micro_batch, 1, overlaps)
    inner = inner_ways(case.job, tp, cp)
    inside = _exchanged(case, tp, cp, micro_batch, inner)
    return inside + _around(case, tp, cp, micro_batch, inner, overlaps)


def key_width(case: Case, tp: Column) -> Column:
    """Elements of a token's keys and values on a rank."""
    model = case.model
    if model.mla:
        return (
            model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim + model.v_head_dim) / tp
        )
    heads = model.heads if case.traits.memory.repeats_keys(case.job) else model.groups
    return 2.0 * np.maximum(heads / tp, 1.0) * model.head_size


def _gathered(case: Case, tp: Column, cp: Column, micro_batch: Column, inner: Column) -> Column:
    """Seconds to bring keys and values of whole sequences to each rank; `inner` ranks share their heads."""
    sent = gathered_bytes(case, tp, cp, micro_batch) / np.asarray(inner)
    return collectives.ring(case.cluster, sent, cp // np.asarray(inner), tp * np.asarray(inner))


def gathered_bytes(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Bytes of the keys and values of whole sequences, of a rank's heads."""
    return 2.0 * (micro_batch * case.seq_len / cp) * cp * key_width(case, tp)


def _exchanged(case: Case, tp: Column, cp: Column, micro_batch: Column, ways: Column) -> Column:
    """Seconds of all-to-alls of queries, keys, values and output among `ways` ranks."""
    model, tokens = case.model, micro_batch * case.seq_len / cp
    sent = 2.0 * tokens * (2.0 * model.heads * model.head_size / tp + key_width(case, tp))
    return collectives.all_to_all(case.cluster, sent, ways, tp)


def _around(
    case: Case, tp: Column, cp: Column, micro_batch: Column, inner: Column, overlaps: bool
) -> Column:
    """Exposed seconds of a ring (Liu et al. 2023, arXiv 2310.01889): keys and values travel its hops beside
    attention, and each brings a partial result to merge."""
    ranks, stride = cp // np.asarray(inner), tp * np.asarray(inner)
    sent = _gathered(case, tp, cp, micro_batch, inner)
    if not overlaps:
        return sent
    core = attention_core.forward(case, tp, cp, micro_batch, ranks)
    hops = np.maximum(ranks - 1, 0) * (
        collectives.neighbour_latency(case.cluster, ranks, stride)
        + RING_KERNELS * case.gpu.kernel_launch
    )
    model, tokens = case.model, micro_batch * case.seq_len / cp
    merged = MERGE_BYTES * tokens * model.heads * model.head_size / tp
    hops = hops + np.maximum(ranks - 1, 0) * kernels.streamed(case, merged)
    exposed = kernels.overlapped(case, sent, np.maximum(sent - core, 0.0))
    return np.where(ranks > 1, exposed + hops, 0.0)
