"""Time on one GPU: seconds of matrix products, attention and elementwise
kernels of one layer and one micro-batch.

Roofline (Williams et al. 2009): a kernel takes the longer of its FLOP at the reachable rate and its bytes
at the reachable bandwidth. Forward; the backward pass repeats each matrix product twice and each elementwise
kernel twice; fused attention recomputes its scores, 2.5 forwards (Dao 2023, arXiv 2307.08691, 3.1).
Columns: tp, cp, micro_batch, tokens (= micro_batch * seq_len / cp), ep, etp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import flops
from .case import Case

#: Backward passes in forward ones: a product for the input's gradient and one for the weights'.
BACKWARD = 2.0
#: Edge of the tile that one core computes of a matrix product (cuBLAS and
#: CUTLASS default 128 x 128 for 16 bits).
TILE = 128
#: The same of fused attention, which computes its scores again (Dao 2023, arXiv 2307.08691, 3.1).
FLASH_BACKWARD = 2.5
#: Bytes that eager norm, rope, activation and residual move for each byte of their fused kernels, by
#: operation: RMSNorm in fp32 30 bytes per element for 4, rope 24 for 4, SwiGLU 10 for 6, residual 6 for 6;
#: weighed by a Llama block's widths.
EAGER_PASSES = 3.0
#: Passes over the score matrix of unfused attention: write, scale and mask, softmax, dropout,
#: read back (2 bytes each).
UNFUSED_PASSES = 8


def matmul(case: Case, rows: Any, columns: Any, inner: Any, rate: float | None = None) -> Any:
    """Seconds of one rows x inner by inner x columns product in 16-bit operands.

    The last wave of tiles is half full on average (NVIDIA, Matrix Multiplication Background,
    wave quantization).
    """
    rate = rate or case.linear_rate
    operations = 2.0 * rows * columns * inner / rate
    moved = 2.0 * (rows * inner + inner * columns + rows * columns) / case.memory_rate
    return np.maximum(operations + half_wave(case, inner, rate), moved)


def half_wave(case: Case, inner: Any, rate: float) -> Any:
    """Seconds of half a wave: every core works on one TILE x TILE tile of the result."""
    return 0.5 * case.gpu.sms * 2.0 * TILE * TILE * inner / rate


def streamed(case: Case, moved_bytes: Any) -> Any:
    """Seconds of elementwise kernels that move so many bytes when they are fused."""
    return moved_bytes * (1.0 if case.fused else EAGER_PASSES) / case.memory_rate


def projections(case: Case, tp: Any, tokens: Any) -> Any:
    """Seconds of the linear layers around attention, forward."""
    model = case.model
    if model.mla:
        return _latent_projections(case, tp, tokens)
    head = model.head_size
    keys = np.maximum(model.groups / tp, 1.0)
    query_key_value = matmul(case, tokens, head * (model.heads / tp + 2 * keys), model.hidden)
    return query_key_value + matmul(case, tokens, model.hidden, model.heads * head / tp)


def _latent_projections(case: Case, tp: Any, tokens: Any) -> Any:
    model = case.model
    query_width = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim) / tp
    key_value_width = model.heads * (model.qk_nope_head_dim + model.v_head_dim) / tp
    seconds = matmul(case, tokens, query_width, model.q_lora_rank or model.hidden)
    if model.q_lora_rank:
        seconds = seconds + matmul(case, tokens, model.q_lora_rank, model.hidden)
    seconds = seconds + matmul(
        case, tokens, model.kv_lora_rank + model.qk_rope_head_dim, model.hidden
    )
    seconds = seconds + matmul(case, tokens, key_value_width, model.kv_lora_rank)
    return seconds + matmul(case, tokens, model.hidden, model.heads * model.v_head_dim / tp)


def attention_core(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    """Seconds of softmax(QK^T)V, forward. Unfused attention computes the
    masked half too and streams the scores."""
    seq_len = case.seq_len
    tokens = micro_batch * seq_len / cp
    if case.train.attention == "flash":
        operations = flops.attention_core(case.model, seq_len) * tokens / tp
        return operations / (case.half_rate * case.gpu.attention_efficiency)
    operations = flops.attention_core(case.model, seq_len, "full") * tokens / tp
    scores = tokens * seq_len * case.model.heads / tp
    return (
        operations / (case.half_rate * case.gpu.matmul_efficiency)
        + 2 * UNFUSED_PASSES * scores / case.memory_rate
    )


def dropout_passes(case: Case) -> float:
    """Passes over a tensor of 2 bytes that dropout adds: its mask of one byte, where one kernel adds bias,
    drops and adds the residual (Megatron-LM, fused_bias_dropout.py); else it is read, written and masked.
    """
    return 0.5 if case.fused else 3.0


def attention_streams(case: Case, tp: Any, tokens: Any) -> Any:
    """Bytes of norm, rotary embedding, residual and dropout around attention, forward:
    reads and writes of 2 bytes."""
    model = case.model
    rotated = 4 * model.head_size * (model.heads + model.groups) if model.position == "rope" else 0
    residual = (5 + (dropout_passes(case) if case.train.dropout else 0)) * 2 * model.hidden
    return tokens * (rotated / tp + residual / case.stream_ways(tp))


def attention(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    """Seconds of the attention half of a layer on the GPU, forward."""
    tokens = micro_batch * case.seq_len / cp
    busy = projections(case, tp, tokens) + attention_core(case, tp, cp, micro_batch)
    return busy + streamed(case, attention_streams(case, tp, tokens))


def attention_backward(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    tokens = micro_batch * case.seq_len / cp
    core = FLASH_BACKWARD if case.train.attention == "flash" else BACKWARD
    busy = BACKWARD * projections(case, tp, tokens) + core * attention_core(
        case, tp, cp, micro_batch
    )
    return busy + BACKWARD * streamed(case, attention_streams(case, tp, tokens))


def _gated(case: Case) -> int:
    return 2 if case.model.gated else 1


def _ffn_products(case: Case, width: Any, tokens: Any) -> Any:
    hidden = case.model.hidden
    return matmul(case, tokens, _gated(case) * width, hidden) + matmul(case, tokens, hidden, width)


def ffn_streams(case: Case, tp: Any, tokens: Any, width: int) -> Any:
    """Bytes of norm, activation function, residual and dropout around a feed-forward of `width`, forward."""
    residual = (5 + (dropout_passes(case) if case.train.dropout else 0)) * 2 * case.model.hidden
    return tokens * (residual / case.stream_ways(tp) + 2 * (_gated(case) + 1) * width / tp)


def dense_ffn(case: Case, tp: Any, tokens: Any) -> Any:
    """Seconds of the dense feed-forward half of a layer on the GPU, forward;
    the backward pass takes twice that."""
    width = case.model.ffn
    return _ffn_products(case, width / tp, tokens) + streamed(
        case, ffn_streams(case, tp, tokens, width)
    )


def moe_ffn(case: Case, tp: Any, tokens: Any, ep: Any, etp: Any) -> Any:
    """Seconds of router, permutation, routed and shared experts, forward, with evenly loaded experts.

    Each rank computes tokens * topk / tp token copies at full expert width (etp trades copies for width); a
    grouped product reads the weights of every local expert, which is what
    small batches of many experts pay for.
    """
    model = case.model
    copies = tokens * model.topk / tp
    width = model.expert_width
    operations = 2.0 * copies * (_gated(case) + 1) * width * model.hidden
    weights = 2.0 * (model.experts / ep) * (_gated(case) + 1) * width * model.hidden / etp
    waves = half_wave(case, model.hidden, case.linear_rate) + half_wave(
        case, width / etp, case.linear_rate
    )
    routed = waves + np.maximum(
        operations / case.linear_rate, (weights + 4.0 * copies * model.hidden) / case.memory_rate
    )
    busy = routed + matmul(
        case, tokens / tp, model.experts, model.hidden, case.half_rate * case.gpu.matmul_efficiency
    )
    if model.shared_experts:
        busy = busy + _ffn_products(case, model.shared_experts * width / tp, tokens)
    permuted = 8.0 * copies * model.hidden + 2.0 * (_gated(case) + 1) * copies * width
    return busy + streamed(
        case, ffn_streams(case, tp, tokens, model.shared_experts * width) + permuted
    )


def head(case: Case, tp: Any, tokens: Any) -> Any:
    """Seconds of output projection and cross entropy, forward and backward."""
    vocab = case.vocab(tp) / tp
    rate = case.half_rate * case.gpu.matmul_efficiency
    product = matmul(case, tokens, vocab, case.model.hidden, rate)
    loss = case.traits.loss_bytes * tokens * vocab / case.memory_rate
    return (1 + case.model.mtp_layers) * (3.0 * product + loss)


def embedding(case: Case, tp: Any, tokens: Any) -> Any:
    """Seconds to look up and later scatter the embedding."""
    return streamed(case, 12.0 * tokens * case.model.hidden) + 0.0 * tp


def mtp_block(case: Case, tp: Any, tokens: Any) -> Any:
    """Seconds of the 2h x h projection in front of an MTP block, forward and backward."""
    hidden = case.model.hidden
    return 3.0 * case.model.mtp_layers * matmul(case, tokens, hidden / tp, 2 * hidden)
