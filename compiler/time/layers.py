"""Time on one GPU: seconds of the kernels of one layer and micro-batch.

Roofline (Williams et al. 2009): a kernel takes the longer of its FLOP at the reachable rate and its bytes at
the reachable bandwidth. The backward pass has two matrix products for each one forward, and its elementwise
kernels move BACKWARD times the bytes. Columns, one number per layout: tp, cp, micro_batch, tokens (=
micro_batch * seq_len / cp), ep, etp.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...dsl.model import Model
from ..algebra import Column, by_stage
from ..case import Case
from . import attention_core as core
from . import context_exchange
from .adapters import adapters
from .kernels import (
    CAST_BYTES,
    Product,
    aligned,
    grouped,
    matmul,
    matmul_backward,
    streamed,
)

#: Columns and inner width of a product.
Shape = tuple[Column, Column]

#: Bytes that elementwise kernels move in the backward pass, as a multiple of the forward pass: a norm reads
#: two operands (6 for 4), the two branches of a residual are added (6 for 6), dropout reads and writes (5),
#: an activation reads its input again (6 for 4, gated 10 for 6).
BACKWARD = 1.5
#: Bytes per element, 16 bits each, that a residual sum moves: it reads two and writes.
RESIDUAL_BYTES = 6
#: Bytes per element that dropout adds to a residual sum: its mask, where one kernel adds bias, drops and adds
#: (Megatron-LM, fused_bias_dropout.py); else it is read, written and masked.
FUSED_DROPOUT_BYTES, EAGER_DROPOUT_BYTES = 1, 6
#: Bytes per element that a rotary embedding moves: fused, and in eager PyTorch in fp32.
ROPE_BYTES, EAGER_ROPE_BYTES = 4, 24
#: Bytes per element that a gated activation moves: fused (two read, one written), and in two kernels.
GATE_BYTES, EAGER_GATE_BYTES = 6, 10
#: Bytes per element of a token copy that permutation moves before and after the experts, in either direction:
#: copies sent one by one are permuted by rank, then by expert, and back (Megatron-core,
#: token_dispatcher.py: 12), tokens sent once are copied where they arrive, and back (8), both at
#: three quarters of other kernels' bandwidth (SimuMax, b200_bf16_ceperm.json: 0.50 of peak for 0.67).
PERMUTE_BYTES = {"copies": 16, "tokens": 10}
#: Bytes per element of an expert's output that adding its bias moves: scaled by the router in fp32, added,
#: concatenated and cast to 16 bits in separate kernels; backward, the gradients of bias and probability
#: (Megatron-core,
#: transformer/moe/experts.py: _apply_bias).
EXPERT_BIAS_BYTES, EXPERT_BIAS_BACKWARD_BYTES = 28, 36
#: Bytes per element of an expert's width that a clamp before a gated activation moves, which no kernel fuses:
#: two halves clamped and put together again; backward, two clamps and the halves' gradients put together
#: (Megatron-core, fusions/fused_bias_geglu.py: weighted_bias_quick_geglu_impl).
CLAMP_BYTES, CLAMP_BACKWARD_BYTES = 16, 20
#: Bytes per element of a token copy that padding each expert's tokens for quantized products moves, in either
#: direction: one copy before the experts and one after (Megatron-core, transformer/moe/experts.py:
#: quantization_padding).
PADDING_BYTES = 8


def projections(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the linear layers around the attention core, forward."""
    return sum(matmul(case, tokens, *shape) for shape in _projections(case.model, tp))


def projections_backward(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the linear layers around the attention core, backward."""
    return sum(matmul_backward(case, tokens, *shape) for shape in _projections(case.model, tp))


def query_gradients(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the gradients of attention's first linear layer: that of queries, keys and values, or,
    in latent attention, the up-projection of queries."""
    return matmul_backward(case, tokens, *_projections(case.model, tp)[0])


def _projections(model: Model, tp: Column) -> list[Shape]:
    """Columns and inner width of each linear layer around the attention core."""
    if model.mla:
        return _latent_projections(model, tp)
    head = model.head_size
    keys = np.maximum(model.groups / tp, 1.0)
    return [
        (head * (model.heads / tp + 2 * keys), model.hidden),
        (model.hidden, model.heads * head / tp),
    ]


def _latent_projections(model: Model, tp: Column) -> list[Shape]:
    shapes: list[Shape] = [
        *up_projections(model, tp),
        (model.kv_lora_rank + model.qk_rope_head_dim, model.hidden),
        (model.hidden, model.heads * model.v_head_dim / tp),
    ]
    return [*shapes, (model.q_lora_rank, model.hidden)] if model.q_lora_rank else shapes


def up_projections(model: Model, tp: Column) -> list[Shape]:
    """Columns and inner width of the products of latent attention that make queries, and keys and values."""
    query_width = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim) / tp
    key_value_width = model.heads * (model.qk_nope_head_dim + model.v_head_dim) / tp
    return [
        (query_width, model.q_lora_rank or model.hidden),
        (key_value_width, model.kv_lora_rank),
    ]


def attention_core(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Seconds of softmax(QK^T)V, forward."""
    parts = context_exchange.parts(case, tp, cp, micro_batch)
    return core.forward(case, tp, cp, micro_batch, parts)


def attention_core_backward(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Seconds of the gradients of softmax(QK^T)V."""
    parts = context_exchange.parts(case, tp, cp, micro_batch)
    return core.backward(case, tp, cp, micro_batch, parts)


def attention_streams(case: Case, tp: Column, tokens: Column) -> Column:
    """Bytes that norm, rotary embedding, residual and dropout move around attention, forward."""
    residual = residual_bytes(case) * case.model.hidden / case.stream_ways(tp)
    return tokens * (rotary_bytes(case) / tp + residual)


def rotary_bytes(case: Case) -> float:
    """Bytes per token that the rotary embedding of queries and keys, and their norms, move, forward."""
    model = case.model
    rope = ROPE_BYTES if case.fused else EAGER_ROPE_BYTES
    moved = (rope if model.position == "rope" else 0.0) + (
        case.traits.kernels.norm_bytes if model.qk_norm else 0.0
    )
    return moved * model.head_size * (model.heads + model.groups)


def residual_bytes(case: Case) -> float:
    """Bytes per element that norm, residual and dropout of a half-layer move, forward."""
    dropped = FUSED_DROPOUT_BYTES if case.fused else EAGER_DROPOUT_BYTES
    return case.traits.kernels.norm_bytes + RESIDUAL_BYTES + (dropped if case.train.dropout else 0)


def attention(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Seconds of the attention half of a layer, forward."""
    tokens = micro_batch * case.seq_len / cp
    busy = projections(case, tp, tokens) + attention_core(case, tp, cp, micro_batch)
    busy = busy + adapters(case, tokens, "attention", backward=False)
    return busy + streamed(case, attention_streams(case, tp, tokens))


def attention_backward(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Seconds of the attention half of a layer, backward."""
    tokens = micro_batch * case.seq_len / cp
    busy = projections_backward(case, tp, tokens) + attention_core_backward(
        case, tp, cp, micro_batch
    )
    busy = busy + adapters(case, tokens, "attention", backward=True)
    return busy + BACKWARD * streamed(case, attention_streams(case, tp, tokens))


def _gated(case: Case) -> int:
    return 2 if case.model.gated else 1


def _ffn_shapes(case: Case, width: Column) -> list[Shape]:
    return [(_gated(case) * width, case.model.hidden), (case.model.hidden, width)]


def ffn_streams(case: Case, tp: Column, tokens: Column, width: int) -> Column:
    """Bytes that a feed-forward's norm, activation function, residual and dropout move, forward."""
    residual = residual_bytes(case) * case.model.hidden
    return tokens * (residual / case.stream_ways(tp) + activation_bytes(case) * width / tp)


def activation_bytes(case: Case) -> int:
    """Bytes per element that a feed-forward's activation function moves, forward."""
    if not case.model.gated:
        return 4
    return GATE_BYTES if case.fused else EAGER_GATE_BYTES


def dense_ffn(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the dense feed-forward half of a layer, forward."""
    width = case.model.ffn
    products = sum(matmul(case, tokens, *shape) for shape in _ffn_shapes(case, width / tp))
    products = products + adapters(case, tokens, "feed_forward", backward=False)
    return products + streamed(case, ffn_streams(case, tp, tokens, width))


def dense_ffn_backward(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the dense feed-forward half of a layer, backward."""
    width = case.model.ffn
    products = sum(matmul_backward(case, tokens, *shape) for shape in _ffn_shapes(case, width / tp))
    products = products + adapters(case, tokens, "feed_forward", backward=True)
    return products + BACKWARD * streamed(case, ffn_streams(case, tp, tokens, width))


def dense_input_gradients(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the gradients of a dense feed-forward's first linear layers."""
    return matmul_backward(case, tokens, *_ffn_shapes(case, case.model.ffn / tp)[0])


def moe_ffn(case: Case, tp: Column, tokens: Column, ep: Column, etp: Column) -> Column:
    """Seconds of the MoE half of a layer, forward: router, permutation, evenly loaded routed experts, shared
    experts.

    Each rank computes tokens * topk / tp token copies at full expert width (etp trades copies for width).
    """
    products = _moe_products(case, matmul, tp, tokens, ep, etp)
    return products + moe_streams(case, tp, tokens, backward=False)


def moe_ffn_backward(case: Case, tp: Column, tokens: Column, ep: Column, etp: Column) -> Column:
    """Seconds of the MoE half of a layer, backward."""
    products = _moe_products(case, matmul_backward, tp, tokens, ep, etp)
    return products + moe_streams(case, tp, tokens, backward=True)


def _moe_products(
    case: Case, kind: Product, tp: Column, tokens: Column, ep: Column, etp: Column
) -> Column:
    """Seconds of the products of routed and shared experts and of the router."""
    model = case.model
    seconds = kind(case, tokens / tp, model.experts, model.hidden, half=True)
    seconds = seconds + expert_products(case, kind, tp, tokens, ep, etp)
    if model.shared_experts:
        for shape in _ffn_shapes(case, model.shared_experts * model.expert_width / tp):
            seconds = seconds + kind(case, tokens, *shape)
    return seconds


def expert_products(
    case: Case, kind: Product, tp: Column, tokens: Column, ep: Column, etp: Column
) -> Column:
    """Seconds of the products of a rank's evenly loaded routed experts."""
    model = case.model
    experts = max(model.experts, 1) / ep
    rows = tokens * model.topk / tp * etp / experts
    shapes = _ffn_shapes(case, model.expert_width / etp)
    return sum(grouped(case, kind, experts, rows, *shape) for shape in shapes)


def permuted_bytes(case: Case, copies: Column, backward: bool) -> Column:
    """Bytes that the permutation of `copies` tokens before and after the experts moves, in one direction."""
    usual = PERMUTE_BYTES[case.traits.wire.dispatch]
    own = case.traits.kernels.permuted_bytes(case.job) or (usual, usual)
    return own[backward] * copies * case.model.hidden


def activated_bytes(case: Case, copies: Column) -> Column:
    """Bytes that the activation functions of routed experts move, forward; none where the products do it."""
    if case.traits.kernels.fused_experts:
        return 0.0 * copies
    return activation_bytes(case) * copies * case.model.expert_width


def clamped_bytes(case: Case, copies: Column, backward: bool) -> Column:
    """Bytes that clamps of routed experts move, in one direction; none where the products clamp."""
    if case.model.glu_clamp is None or case.traits.kernels.fused_experts:
        return 0.0 * copies
    return (CLAMP_BACKWARD_BYTES if backward else CLAMP_BYTES) * copies * case.model.expert_width


def moe_streams(case: Case, tp: Column, tokens: Column, backward: bool) -> Column:
    """Seconds of an MoE half's elementwise kernels in one direction: norm, residual and activation functions,
    BACKWARD times as many bytes backward; permutation and padding of token copies, experts' unfused biases
    and clamps, which have bytes of their own."""
    model, passes = case.model, BACKWARD if backward else 1.0
    bias_bytes = EXPERT_BIAS_BACKWARD_BYTES if backward else EXPERT_BIAS_BYTES
    copies = tokens * model.topk / tp
    around = ffn_streams(case, tp, tokens, model.shared_experts * model.expert_width)
    around = around + activated_bytes(case, copies)
    moved = permuted_bytes(case, copies, backward) + clamped_bytes(case, copies, backward)
    padded = case.traits.kernels.padded_copies and case.traits.wire.dispatch == "copies"
    if padded and case.train.precision in CAST_BYTES:
        moved = moved + PADDING_BYTES * copies * model.hidden
    if model.bias and not case.traits.kernels.fused_experts:
        moved = moved + bias_bytes * copies * model.hidden
    return streamed(case, passes * around + moved)


def head(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of output projection and cross entropy, forward and backward, once more for each MTP layer."""
    vocab = case.vocab(tp) / tp
    products = matmul(case, tokens, vocab, case.model.hidden, half=True)
    products = products + matmul_backward(case, tokens, vocab, case.model.hidden, half=True)
    return (1 + case.model.mtp_layers) * (
        products / aligned(vocab) + streamed(case, case.traits.kernels.loss_bytes * tokens * vocab)
    )


def embedding(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the embedding's lookup and of the scatter of its gradient."""
    return streamed(case, 12.0 * tokens * case.model.hidden) + 0.0 * tp


def mtp_block(case: Case, tp: Column, tokens: Column) -> Column:
    """Seconds of the 2h x h projection in front of an MTP block, forward and backward."""
    hidden = case.model.hidden
    return 3.0 * case.model.mtp_layers * matmul(case, tokens, hidden / tp, 2 * hidden)


def copies(case: Case, zero: Column) -> Column:
    """Seconds per parameter of one micro-batch's copies of gathered weights and of gradients to be reduced,
    and of gradient accumulation in separate kernels."""
    return by_stage(partial(copied_bytes, case), zero) / case.memory_rate


def copied_bytes(case: Case, stage: int) -> float:
    """Bytes per parameter that the kernels of `copies` move at a ZeRO stage."""
    wire, kernels = case.traits.wire, case.traits.kernels
    added = kernels.sum_bytes(case.job, stage) if kernels.sum_bytes else 0.0
    return (
        wire.gathers(stage) * kernels.gather_copy_bytes
        + wire.reduces_each(stage) * kernels.reduce_copy_bytes
        + added
    )
