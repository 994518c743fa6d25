"""Memory that a micro-batch needs on a rank: bytes of activations, of their gradients and of logits.

Terms are KiB, rounded up; arguments and results are columns, one number per layout. Activations follow
Korthikanti et al. 2022 (arXiv 2205.05198, 4.1), extended to grouped and latent attention, gated feed-forward,
fused attention and experts. Sequence parallelism divides all of them by tp; without it norm, dropout and
residual stay whole (equations 1 and 2).
"""

from __future__ import annotations

import numpy as np

from ...dsl.exchanges import ALL_GATHER, EXCHANGES
from ..algebra import KIB, Column, term
from ..case import Case
from ..time import context_exchange
from ..variables import FINE, WHOLE_MOE, discards
from .model_states import frees_gathered_weights


def attention_bytes(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Bytes of all activations of the attention half of one layer and micro-batch: norm input and output,
    q, k, v, output, statistics."""
    model = case.model
    tokens = micro_batch * case.seq_len / cp
    if model.mla:
        query_key = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim)
        compressed = 4 * model.q_lora_rank + 4 * (model.kv_lora_rank + model.qk_rope_head_dim)
        wide = (4 * query_key + 4 * model.heads * model.v_head_dim) / tp + compressed
    else:
        wide = 2 * model.head_size * (2 * model.heads / tp + 2 * np.maximum(model.groups / tp, 1.0))
        wide = wide + _quantized_copy_bytes(case) * model.head_size * model.heads / tp
        wide = wide + _repeated_key_bytes(case) / tp
    statistics = 4 * model.heads / tp
    residual = _residual_bytes(case, tp, tokens, products=2 if model.mla else 3)
    return tokens * (wide + statistics) + residual + score_bytes(case, tp, cp, micro_batch)


def _repeated_key_bytes(case: Case) -> int:
    """Bytes per token of the 16-bit keys and values that are copied for the other heads of a group."""
    model = case.model
    copies = model.heads - model.groups if case.traits.memory.repeats_keys(case.job) else 0
    return 4 * model.head_size * copies


def _quantized_copy_bytes(case: Case) -> float:
    """Bytes per element of the second copy of attention's output: the backward pass of attention reads it in
    16 bits, that of the projection as quantized."""
    return case.input_bytes if case.input_bytes < 2 else 0


def score_bytes(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Bytes of the scores that unfused attention keeps for one layer and micro-batch: 2 per score of softmax,
    3 of dropout's mask and output; 0 when fused."""
    if case.train.attention == "flash":
        return 0.0 * tp * cp * micro_batch
    kept = 5 if case.train.dropout else 2
    return kept * case.model.heads / tp * micro_batch * float(case.seq_len) ** 2 / cp


def _ffn_inner(case: Case) -> float:
    """Bytes kept per element of a feed-forward's width: inputs of the activation function (two when gated)
    and of the second product; unfused ones also keep its output when gated."""
    gated = case.model.gated
    return case.input_bytes + 2 * ((2 if gated else 1) + (1 if gated and not case.fused else 0))


def _ffn_bytes(case: Case, tp: Column, tokens: Column, width: Column) -> Column:
    return tokens * _ffn_inner(case) * width / tp


def _residual_bytes(case: Case, tp: Column, tokens: Column, products: int) -> Column:
    """Bytes of a half-layer's norm input and output, what the norm keeps beside them, and dropout mask; the
    output is whole where the framework keeps what tp gathers, and `products` read it."""
    ways = case.stream_ways(tp)
    output = _input_copies(case, products) * case.input_bytes / _gathered_ways(case, tp)
    inside = _stream_bytes(case) + case.traits.memory.norm_kept_bytes
    inside = inside + (1 if case.train.dropout else 0)
    return tokens * case.model.hidden * (inside / ways + output)


def _stream_bytes(case: Case) -> int:
    """Bytes per element of the residual stream."""
    return 4 if case.traits.memory.autocasts(case.job) else 2


def _input_copies(case: Case, products: int) -> int:
    """Copies of an input that so many products read: under autocast in eager PyTorch each casts its own."""
    return products if case.traits.memory.autocasts(case.job) and not case.train.compile else 1


def _gathered_ways(case: Case, tp: Column) -> Column:
    """Ranks over which the norm output kept for the backward pass is divided."""
    return np.ones_like(tp) if case.traits.memory.keeps_gathered else case.stream_ways(tp)


def dense_bytes(case: Case, tp: Column, tokens: Column) -> Column:
    """Bytes of all activations of the dense feed-forward half of one layer and micro-batch."""
    residual = _residual_bytes(case, tp, tokens, _first_products(case))
    return residual + _ffn_bytes(case, tp, tokens, case.model.ffn)


def _first_products(case: Case) -> int:
    """Products that read the input of a feed-forward."""
    return 2 if case.model.gated else 1


def moe_bytes(case: Case, tp: Column, tokens: Column, etp: Column) -> Column:
    """Bytes of all activations of the MoE half of one layer and micro-batch: permuted copies of tokens in,
    and out where scores weigh them there; their inner widths, shared experts, router scores."""
    model = case.model
    copies = tokens * model.topk * etp / tp
    inner = _ffn_inner(case) * model.expert_width / etp
    shared = _ffn_bytes(case, tp, tokens, model.shared_experts * model.expert_width)
    returned = _stream_bytes(case) if case.traits.memory.keeps_expert_outputs else 0
    entering = _input_copies(case, _first_products(case)) * case.input_bytes
    router = 8 * tokens * model.experts / case.stream_ways(tp)
    readers = 1 + (_first_products(case) if model.shared_experts else 0)
    return (
        _residual_bytes(case, tp, tokens, readers)
        + copies * ((returned + entering) * model.hidden + inner)
        + shared
        + router
    )


def attention_discarded(case: Case, tp: Column, tokens: Column) -> Column:
    """Bytes that fine recomputation discards of the attention half of one layer and micro-batch: the norm's
    output; queries, keys and values with the normed inputs of the products that make them, whose compressed
    inputs stay (Megatron-core, multi_latent_attention.py)."""
    model, discarded = case.model, case.traits.memory.discarded
    found: Column = 0.0 * tp
    if "attention_norm" in discarded:
        found = found + case.input_bytes * model.hidden / _gathered_ways(case, tp)
    if "up_projections" in discarded:
        query_key = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim)
        found = found + (4 * query_key + 2 * model.heads * model.v_head_dim) / tp
        found = found + 2 * (model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim)
    return tokens * found


def moe_discarded(case: Case, tp: Column, tokens: Column, etp: Column) -> Column:
    """Bytes that fine recomputation discards of the MoE half of one layer and micro-batch: the norm's output;
    what the activation function makes of its inputs."""
    model, discarded = case.model, case.traits.memory.discarded
    found: Column = 0.0 * tp
    if "expert_norm" in discarded:
        found = found + tokens * case.input_bytes * model.hidden / _gathered_ways(case, tp)
    if "expert_activation" in discarded:
        made = _ffn_inner(case) - 2 * (2 if model.gated else 1)
        found = found + tokens * model.topk / tp * made * model.expert_width
    return found


def boundary_bytes(case: Case, tp: Column, tokens: Column) -> Column:
    """Bytes of one layer's input or output for one micro-batch on a rank."""
    return _stream_bytes(case) * tokens * case.model.hidden / case.stream_ways(tp)


def attention_kept(
    case: Case, tp: Column, cp: Column, micro_batch: Column, recompute: Column
) -> Column:
    """Bytes of activations that the attention half of one layer keeps under recompute 0 (none), 1 (selective,
    as the framework defines it), 3 (fine) or 4 (moe).

    core_attention drops the scores (Korthikanti 5); per_op keeps the inputs of a block and the outputs of
    every second matmul, of attention and of reduce-scatters, the last matmul's before its reduction
    (torchtitan 0.2.2, distributed/activation_checkpoint.py); feed_forward leaves attention alone.
    """
    none = attention_bytes(case, tp, cp, micro_batch)
    tokens = micro_batch * case.seq_len / cp
    if case.traits.memory.selective == "core_attention":
        selective = none - score_bytes(case, tp, cp, micro_batch)
    elif case.traits.memory.selective == "per_op":
        keys = np.maximum(case.model.groups / tp, 1.0)
        wide = (
            2 * case.model.head_size * (2 * case.model.heads / tp + keys)
            + 4 * case.model.heads / tp
        )
        selective = tokens * wide + (1 + reduce_scatters(tp)) * boundary_bytes(case, tp, tokens)
        selective = selective + score_bytes(case, tp, cp, micro_batch)
    else:
        selective = none
    kept = np.where(recompute == 1, np.minimum(selective, none), none)
    return np.where(discards(recompute), none - attention_discarded(case, tp, tokens), kept)


def reduce_scatters(tp: Column) -> Column:
    """1 where a half-layer ends in a reduce-scatter, else 0."""
    return (np.asarray(tp) > 1).astype(np.float64)


def ffn_kept(
    case: Case, none: Column, tp: Column, tokens: Column, recompute: Column, moe: bool
) -> Column:
    """Bytes of activations that a feed-forward half of one layer keeps under recompute 0 (none), 1
    (selective: all, the input and every second matmul's output, or the input alone) or, of dense layers, 3
    and 4 (fine, moe: all, or the input alone)."""
    hidden = boundary_bytes(case, tp, tokens)
    if case.traits.memory.selective == "per_op":
        inner = case.model.topk * case.model.expert_width if moe else case.model.ffn
        gathered = 2 * tokens * case.model.hidden if case.traits.memory.keeps_gathered else hidden
        selective = gathered + reduce_scatters(tp) * hidden + 2 * tokens * inner / tp
        selective = selective + (4 * hidden * case.model.topk if moe else 0)
    elif case.traits.memory.selective == "feed_forward":
        selective = hidden
    else:
        selective = none
    kept = np.where(recompute == 1, np.minimum(selective, none), none)
    if moe or "dense_ffn" not in case.traits.memory.discarded:
        return kept
    return np.where(discards(recompute), hidden, kept)


def moe_kept(
    case: Case, none: Column, tp: Column, tokens: Column, etp: Column, recompute: Column
) -> Column:
    """As `ffn_kept`, of the MoE half, under recompute 3 (fine) and 4 (moe) too: the latter keeps the input of
    the half, and that of its experts where the norm's output stays."""
    kept = ffn_kept(case, none, tp, tokens, recompute, moe=True)
    kept = np.where(recompute == FINE, none - moe_discarded(case, tp, tokens, etp), kept)
    norms = 1 if "expert_norm" in case.traits.memory.discarded else 2
    inputs = np.minimum(norms * boundary_bytes(case, tp, tokens), none)
    return np.where(recompute == WHOLE_MOE, inputs, kept)


@term("KiB", of=("tp", "cp", "micro_batch", "recompute"))
def attention_activation(
    case: Case, tp: Column, cp: Column, micro_batch: Column, recompute: Column
) -> Column:
    """KiB of activations that the attention half of one layer keeps for one micro-batch."""
    return attention_kept(case, tp, cp, micro_batch, recompute) / KIB


@term("KiB", of=("tp", "tokens", "recompute"))
def dense_activation(case: Case, tp: Column, tokens: Column, recompute: Column) -> Column:
    """KiB of activations that the dense feed-forward half of one layer keeps for one micro-batch."""
    return ffn_kept(case, dense_bytes(case, tp, tokens), tp, tokens, recompute, moe=False) / KIB


@term("KiB", of=("tp", "tokens", "etp", "recompute"))
def moe_activation(
    case: Case, tp: Column, tokens: Column, etp: Column, recompute: Column
) -> Column:
    """KiB of activations that the MoE half of one layer keeps for one micro-batch."""
    none = moe_bytes(case, tp, tokens, etp)
    return moe_kept(case, none, tp, tokens, etp, recompute) / KIB


@term("KiB", of=("tp", "tokens"))
def boundary_activation(case: Case, tp: Column, tokens: Column) -> Column:
    """KiB of one fully recomputed layer's checkpointed input for one micro-batch: whole, divided by tp, or 0
    where the framework keeps it on the host."""
    match case.traits.memory.checkpoints:
        case "divided":
            return 2 * tokens * case.model.hidden / tp / KIB
        case "host":
            return 0.0 * tp * tokens
    return boundary_bytes(case, tp, tokens) / KIB


@term("KiB", of=("tp", "tokens"))
def stage_output(case: Case, tp: Column, tokens: Column) -> Column:
    """KiB of a stage's output for one micro-batch, where the pipeline keeps it until its gradient arrives;
    divided by tp (sequence parallelism; DeepSpeed's pipeline partitions what it sends)."""
    return case.traits.memory.keeps_outputs * 2 * tokens * case.model.hidden / tp / KIB


@term("KiB", of=("tp", "tokens"))
def embedding_activation(case: Case, tp: Column, tokens: Column) -> Column:
    """KiB of the embedding's dropout mask for one micro-batch."""
    return bool(case.train.dropout) * boundary_bytes(case, tp, tokens) / 2 / KIB


@term("KiB", of=("tp", "tokens", "pp"))
def pipeline_buffers(case: Case, tp: Column, tokens: Column, pp: Column) -> Column:
    """KiB of a pipeline's send and receive buffers that are not activations in flight."""
    held = np.where(np.asarray(pp) > 1, case.traits.memory.receive_buffers, 0)
    return held * 2 * tokens * case.model.hidden / tp / KIB


@term("KiB", of=("tp", "tokens", "pp"))
def kept_logits(case: Case, tp: Column, tokens: Column, pp: Column) -> Column:
    """KiB of one micro-batch's logits that the last stage keeps after their backward pass."""
    ways = np.ones_like(tp) if case.traits.tensor.gathers_logits else tp
    width = case.traits.memory.output_logit_bytes(np.asarray(pp))
    return width * tokens * case.vocab(tp) / ways / KIB


@term("KiB", of=("tp", "cp", "micro_batch", "recompute"))
def recomputed_attention_activation(
    case: Case, tp: Column, cp: Column, micro_batch: Column, recompute: Column
) -> Column:
    """KiB of one layer's attention activations that the backward pass recomputes for one micro-batch: all but
    the checkpointed input under full recompute, what selective recompute drops otherwise."""
    none, kept = (
        attention_kept(case, tp, cp, micro_batch, mode) for mode in (0 * recompute, recompute)
    )
    boundary = boundary_bytes(case, tp, micro_batch * case.seq_len / cp)
    return np.where(recompute == 2, none - boundary, none - kept) / KIB


@term("KiB", of=("tp", "tokens", "recompute"))
def recomputed_dense_activation(
    case: Case, tp: Column, tokens: Column, recompute: Column
) -> Column:
    """KiB of one layer's dense feed-forward activations that the backward pass recomputes for one
    micro-batch: all under full recompute, what selective recompute drops otherwise."""
    none = dense_bytes(case, tp, tokens)
    kept = ffn_kept(case, none, tp, tokens, recompute, moe=False)
    return np.where(recompute == 2, none, none - kept) / KIB


@term("KiB", of=("tp", "tokens", "etp", "recompute"))
def recomputed_moe_activation(
    case: Case, tp: Column, tokens: Column, etp: Column, recompute: Column
) -> Column:
    """KiB of one layer's MoE activations that the backward pass recomputes for one micro-batch: all under
    full recompute, what selective recompute drops otherwise."""
    none = moe_bytes(case, tp, tokens, etp)
    kept = moe_kept(case, none, tp, tokens, etp, recompute)
    return np.where(recompute == 2, none, none - kept) / KIB


@term("KiB", of=("tp", "cp", "micro_batch"))
def attention_workspace(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """KiB of activation gradients alive in the backward pass of one layer's attention: query, key, value,
    output and, when unfused, a 16-bit score matrix; with what context parallelism gathered, and its
    gradients (Transformer Engine 2.9, context_parallel.py: AttnFuncWithCPAndKVAllGather)."""
    model, tokens = case.model, micro_batch * case.seq_len / cp
    heads = (2 * model.heads / tp + 2 * np.maximum(model.groups / tp, 1.0)) * model.head_size
    scores = 0.0 if case.train.attention == "flash" else 2.0 * model.heads / tp * case.seq_len
    alive = tokens * (2 * heads + scores + 2 * model.hidden / case.stream_ways(tp))
    if not case.traits.memory.gathers_keys or ALL_GATHER not in case.traits.wire.contexts:
        return alive / KIB
    gathered = 2 * context_exchange.gathered_bytes(case, tp, cp, micro_batch)
    taken = context_exchange.chosen(case, tp, cp, micro_batch) == EXCHANGES[ALL_GATHER]
    return (alive + np.where(taken & (cp > 1), gathered, 0.0)) / KIB


@term("KiB", of=("tp", "tokens"))
def workspace(case: Case, tp: Column, tokens: Column) -> Column:
    """KiB of activation gradients alive in the backward pass of one layer's feed-forward."""
    model = case.model
    width = max(model.ffn, model.topk * model.expert_width) if model.moe else model.ffn
    inner = 2 * (3 if model.gated else 2) * width / tp
    return tokens * (inner + 4 * model.hidden / case.stream_ways(tp)) / KIB


@term("KiB", of=("tp", "tokens", "zero"))
def loss_moment(case: Case, tp: Column, tokens: Column, zero: Column) -> Column:
    """KiB that the head of one micro-batch needs around the loss, the larger of two moments.

    At the loss: the logits and their gradient, in the copies and dtypes that the framework holds. Just after:
    the 16-bit gradient of the logits and the gradient of the head's weights, where that is whole until it is
    reduced. A loss in chunks, which holds no logits, has no gradient of them either. Both add the input and
    output of the last norm and, when weights are sharded, the gathered head.
    """
    local = case.vocab(tp) / tp
    seen = case.vocab(tp) / (np.ones_like(tp) if case.traits.tensor.gathers_logits else tp)
    freed = frees_gathered_weights(case, zero)
    weights = np.where(freed, 2.0 * local * case.model.hidden, 0.0)
    gradient = np.where(
        freed, case.traits.memory.layer_gradient_bytes * local * case.model.hidden, 0.0
    )
    whole, divided = case.traits.memory.logit_bytes, case.traits.memory.local_logit_bytes
    held = np.where(np.asarray(tp) > 1, whole if divided is None else divided, whole)
    if case.model.logit_softcap:
        held = held + case.traits.memory.cap_logit_bytes
    loss = held * tokens * seen
    after = 2.0 * tokens * seen * (held > 0) + gradient
    output = 2 * tokens * case.model.hidden / _gathered_ways(case, tp)
    norm = boundary_bytes(case, tp, tokens) + output
    return (norm + weights + np.maximum(loss, after)) / KIB


@term("KiB", of=("tp", "tokens"))
def freed_logits(case: Case, tp: Column, tokens: Column) -> Column:
    """KiB of one micro-batch's 16-bit logits that the loss no longer needs, and of which no later tensor of
    its own finds room: the first gradient in fp32 takes the place of the fp32 logits, and the next is larger
    than what is left."""
    freed = np.where(np.asarray(tp) > 1, 0.0, case.traits.memory.freed_logit_bytes)
    return freed * tokens * case.vocab(tp) / KIB
