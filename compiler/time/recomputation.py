"""Time that recomputation short of whole layers repeats: nanoseconds of one layer and micro-batch.

Selective recomputation repeats what the framework's own option does, fine recomputation the operations whose
outputs it discards; neither takes longer than these operations did forward. Terms take and return columns,
one number per layout.
"""

from __future__ import annotations

import numpy as np

from ..algebra import NANO, Column, term
from ..case import Case
from ..variables import FINE, WHOLE_MOE, discards
from . import kernels, layers
from . import parallel_traffic as traffic


@term("ns", of=("tp", "cp", "micro_batch", "recompute"))
def repeated_attention(
    case: Case, tp: Column, cp: Column, micro_batch: Column, recompute: Column
) -> Column:
    """Nanoseconds that selective or fine recomputation repeats of the attention half."""
    selective = np.where(recompute == 1, _selective_attention(case, tp, cp, micro_batch), 0.0)
    if not case.traits.memory.discarded:
        return NANO * selective
    fine = _fine_attention(case, tp, micro_batch * case.seq_len / cp)
    return NANO * np.where(discards(recompute), fine, selective)


@term("ns", of=("tp", "tokens", "recompute"))
def repeated_dense(case: Case, tp: Column, tokens: Column, recompute: Column) -> Column:
    """Nanoseconds that selective or fine recomputation repeats of the dense half: nothing, one of three
    products and all elementwise kernels, or all; fine with the collectives of tensor parallelism.
    """
    share = {"core_attention": 0.0, "per_op": 1 / 3, "feed_forward": 1.0}[
        case.traits.memory.selective
    ]
    whole = layers.dense_ffn(case, tp, tokens)
    repeated = share * whole
    if case.traits.memory.selective == "per_op":
        streams = layers.ffn_streams(case, tp, tokens, case.model.ffn)
        repeated = repeated + (1 - share) * kernels.streamed(case, streams)
    selective = np.where(recompute == 1, NANO * repeated, 0.0)
    if "dense_ffn" not in case.traits.memory.discarded:
        return selective
    fine = NANO * (whole + traffic.tensor(case, tp, tokens))
    return np.where(discards(recompute), fine, selective)


@term("ns", of=("tp", "tokens", "recompute"))
def repeated_moe(case: Case, tp: Column, tokens: Column, recompute: Column) -> Column:
    """Nanoseconds that fine recomputation repeats of the MoE half: its norm, and the activation functions of
    routed experts. Of the whole half under `recompute = moe` see `whole_moe`."""
    discarded, moved = case.traits.memory.discarded, 0.0 * tokens * tp
    if "expert_norm" in discarded:
        moved = moved + _norm_streams(case, tp, tokens)
    if "expert_activation" in discarded:
        copies = tokens * case.model.topk / tp
        moved = moved + layers.activated_bytes(case, copies)
        moved = moved + layers.clamped_bytes(case, copies, backward=False)
    return np.where(recompute == FINE, NANO * kernels.streamed(case, moved), 0.0)


def repeats_moe(case: Case) -> bool:
    """Whether layouts of the job may recompute the whole MoE half."""
    return WHOLE_MOE in case.domains.get("recompute", ())


@term("1", of=("recompute",))
def whole_moe(case: Case, recompute: Column) -> Column:
    """1 where the backward pass repeats the forward pass of the MoE half, its exchange of tokens included
    (Megatron-LM core_v0.19.0 core/transformer/moe/moe_layer.py:701), else 0."""
    return np.equal(recompute, WHOLE_MOE)


def _selective_attention(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Seconds: the core, half of the projections and the elementwise kernels, or nothing."""
    tokens = micro_batch * case.seq_len / cp
    match case.traits.memory.selective:
        case "core_attention":
            return layers.attention_core(case, tp, cp, micro_batch)
        case "per_op":
            streams = layers.attention_streams(case, tp, tokens)
            return layers.projections(case, tp, tokens) / 2 + kernels.streamed(case, streams)
    return 0.0 * tokens * tp


def _fine_attention(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds: the norm; the products that make queries, keys and values, and their rotary embedding."""
    discarded, seconds = case.traits.memory.discarded, 0.0 * tokens * tp
    if "attention_norm" in discarded:
        seconds = seconds + kernels.streamed(case, _norm_streams(case, tp, tokens))
    if "up_projections" in discarded:
        for shape in layers.up_projections(case.model, tp):
            seconds = seconds + kernels.matmul(case, tokens, *shape)
        seconds = seconds + kernels.streamed(case, tokens * layers.rotary_bytes(case) / tp)
    return seconds


def _norm_streams(case: Case, tp: Column, tokens: Column) -> Column:
    """Bytes that the norm of a half-layer moves, forward."""
    return tokens * case.traits.kernels.norm_bytes * case.model.hidden / case.stream_ways(tp)
