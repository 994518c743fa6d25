"""Memory of one rank: bytes of states, activations, logits and buffers, by role of the rank in its pipeline.

Terms are KiB, rounded up. Activations follow Korthikanti et al. 2022 (arXiv 2205.05198, 4.1), extended to
grouped and latent attention, gated feed-forward, fused attention and experts;
sequence parallelism divides all of them by tp,
and without it norm, dropout and residual stay whole (equations 1 and 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import parameters
from .case import Case
from .terms import term

KIB = 1024
#: Fixed point of bytes per parameter in the solver's integers.
SCALE = 4096
#: Layers whose gathered weights are alive at once under ZeRO 3: the running one and the prefetched one.
LIVE_LAYERS = 2


def attention_bytes(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    """Bytes kept for the attention half of one layer and micro-batch: norm input and output, q, k, v,
    output, statistics."""
    model = case.model
    tokens = micro_batch * case.seq_len / cp
    if model.mla:
        query_key = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim)
        compressed = 4 * model.q_lora_rank + 4 * (model.kv_lora_rank + model.qk_rope_head_dim)
        wide = (4 * query_key + 4 * model.heads * model.v_head_dim) / tp + compressed
    else:
        wide = 2 * model.head_size * (2 * model.heads / tp + 2 * np.maximum(model.groups / tp, 1.0))
    residual = (4 + (1 if case.train.dropout else 0)) * model.hidden
    statistics = 4 * model.heads / tp
    return tokens * (wide + residual / case.stream_ways(tp) + statistics) + score_bytes(
        case, tp, cp, micro_batch
    )


def score_bytes(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    """Bytes of the score matrix that unfused attention keeps: softmax (2),
    and dropout's mask and output (3)."""
    if case.train.attention == "flash":
        return 0.0 * tp * cp * micro_batch
    kept = 5 if case.train.dropout else 2
    return kept * case.model.heads / tp * micro_batch * float(case.seq_len) ** 2 / cp


def _ffn_inner(case: Case) -> int:
    """Bytes kept per element of a feed-forward's width: input of the activation function (two for gated)
    and its output; eager gated ones also keep what the activation function returns."""
    gated = case.model.gated
    return 2 * ((2 if gated else 1) + 1 + (1 if gated and not case.fused else 0))


def _ffn_bytes(case: Case, tp: Any, tokens: Any, width: Any) -> Any:
    return tokens * _ffn_inner(case) * width / tp


def _residual_bytes(case: Case, tp: Any, tokens: Any) -> Any:
    kept = (4 + (1 if case.train.dropout else 0)) * case.model.hidden
    return tokens * kept / case.stream_ways(tp)


def dense_bytes(case: Case, tp: Any, tokens: Any) -> Any:
    """Bytes kept for the dense feed-forward half."""
    return _residual_bytes(case, tp, tokens) + _ffn_bytes(case, tp, tokens, case.model.ffn)


def moe_bytes(case: Case, tp: Any, tokens: Any, etp: Any) -> Any:
    """Bytes kept for the MoE half: permuted copies in and out, their inner widths, shared experts,
    router scores."""
    model = case.model
    copies = tokens * model.topk * etp / tp
    inner = _ffn_inner(case) * model.expert_width / etp
    shared = _ffn_bytes(case, tp, tokens, model.shared_experts * model.expert_width)
    router = 8 * tokens * model.experts / case.stream_ways(tp)
    return _residual_bytes(case, tp, tokens) + copies * (4 * model.hidden + inner) + shared + router


def boundary_bytes(case: Case, tp: Any, tokens: Any) -> Any:
    """Bytes kept of a fully recomputed layer: its input."""
    return 2 * tokens * case.model.hidden / case.stream_ways(tp)


def attention_kept(case: Case, tp: Any, cp: Any, micro_batch: Any, recompute: Any) -> Any:
    """Bytes of the attention half under none or selective recompute,
    in the framework's own meaning of the word.

    core_attention drops the scores (Korthikanti 5); per_op keeps the inputs of a block and the outputs of
    every second matmul and of attention (torchtitan 0.2.2, distributed/activation_checkpoint.py);
    feed_forward leaves attention alone.
    """
    none = attention_bytes(case, tp, cp, micro_batch)
    tokens = micro_batch * case.seq_len / cp
    if case.traits.selective == "core_attention":
        selective = none - score_bytes(case, tp, cp, micro_batch)
    elif case.traits.selective == "per_op":
        keys = np.maximum(case.model.groups / tp, 1.0)
        wide = (
            2 * case.model.head_size * (2 * case.model.heads / tp + keys)
            + 4 * case.model.heads / tp
        )
        selective = tokens * wide + boundary_bytes(case, tp, tokens)
        selective = selective + score_bytes(case, tp, cp, micro_batch)
    else:
        selective = none
    return np.where(recompute == 1, np.minimum(selective, none), none)


def ffn_kept(case: Case, none: Any, tp: Any, tokens: Any, recompute: Any, moe: bool) -> Any:
    """Bytes of a feed-forward half under none or selective recompute (`attention_kept` says what each
    framework drops)."""
    hidden = boundary_bytes(case, tp, tokens)
    if case.traits.selective == "per_op":
        inner = case.model.topk * case.model.expert_width if moe else case.model.ffn
        selective = hidden + 2 * tokens * inner / tp + (4 * hidden * case.model.topk if moe else 0)
    elif case.traits.selective == "feed_forward":
        selective = hidden
    else:
        selective = none
    return np.where(recompute == 1, np.minimum(selective, none), none)


@term("KiB", of=("tp", "cp", "micro_batch", "recompute"))
def attention_activation(case: Case, tp: Any, cp: Any, micro_batch: Any, recompute: Any) -> Any:
    return attention_kept(case, tp, cp, micro_batch, recompute) / KIB


@term("KiB", of=("tp", "tokens", "recompute"))
def dense_activation(case: Case, tp: Any, tokens: Any, recompute: Any) -> Any:
    return ffn_kept(case, dense_bytes(case, tp, tokens), tp, tokens, recompute, moe=False) / KIB


@term("KiB", of=("tp", "tokens", "etp", "recompute"))
def moe_activation(case: Case, tp: Any, tokens: Any, etp: Any, recompute: Any) -> Any:
    return ffn_kept(case, moe_bytes(case, tp, tokens, etp), tp, tokens, recompute, moe=True) / KIB


@term("KiB", of=("tp", "tokens"))
def boundary_activation(case: Case, tp: Any, tokens: Any) -> Any:
    return boundary_bytes(case, tp, tokens) / KIB


@term("1", of=("recompute",))
def recomputes(case: Case, recompute: Any) -> Any:
    """1 where a whole layer is brought back at a time: full recompute."""
    return recompute == 2


@term("KiB", of=("tp", "tokens"))
def workspace(case: Case, tp: Any, tokens: Any) -> Any:
    """Gradients of one half-layer's activations, alive in the backward pass."""
    model = case.model
    width = max(model.ffn, model.topk * model.expert_width) if model.moe else model.ffn
    inner = 2 * (3 if model.gated else 2) * width / tp
    return tokens * (inner + 4 * model.hidden / case.stream_ways(tp)) / KIB


@term("KiB", of=("tp", "tokens"))
def logits(case: Case, tp: Any, tokens: Any) -> Any:
    """Logits at the loss, in the copies and dtypes that the framework holds, with their gradient."""
    ways = np.ones_like(tp) if case.traits.gathers_logits else tp
    return case.traits.logit_bytes * tokens * case.vocab(tp) / ways / KIB


@term("1/4096 B", of=("zero", "shard", "offload", "hpz"))
def state_width(case: Case, zero: Any, shard: Any, offload: Any, hpz: Any) -> Any:
    """Bytes per parameter of weights, gradients and optimizer state on the GPU,
    for what tp and pp leave to a rank."""
    return SCALE * sum(state_widths(case, zero, shard, offload, hpz).values())


@term("1/4096 B", of=("zero", "expert_shard", "offload", "hpz"))
def expert_state_width(case: Case, zero: Any, expert_shard: Any, offload: Any, hpz: Any) -> Any:
    """The same for routed experts, which are divided over fewer ranks."""
    return SCALE * sum(state_widths(case, zero, expert_shard, offload, hpz).values())


@term("1/4096 B", of=("zero", "shard", "offload"))
def host_width(case: Case, zero: Any, shard: Any, offload: Any) -> Any:
    """Bytes per parameter that offload keeps in host memory."""
    state = _by_stage(case, zero)
    optimizer = state["optimizer"] / np.where(state["optimizer_sharded"], shard, 1)
    weights = state["weights"] / np.where(state["weights_sharded"], shard, 1)
    return SCALE * (np.where(offload >= 1, optimizer, 0.0) + np.where(offload == 2, weights, 0.0))


@term("KiB", of=("tp", "expert_ways", "zero"))
def gathered(case: Case, tp: Any, expert_ways: Any, zero: Any) -> Any:
    """Gathered 16-bit weights of the layers alive at once, and one layer's whole gradient,
    when weights are divided."""
    layer = layer_parameters(case, tp, expert_ways)
    alive = LIVE_LAYERS * 2.0 * layer + case.traits.reduce_bytes * layer
    table = _by_stage(case, zero)
    return np.where(table["weights_sharded"] & (table["gathered"] == 0), alive, 0.0) / KIB


def layer_parameters(case: Case, tp: Any, expert_ways: Any) -> Any:
    """Parameters of the largest layer on a rank before ZeRO."""
    layer = (
        parameters.moe_layer(case.model) if case.model.moe else parameters.dense_layer(case.model)
    )
    return parameters.per_rank(layer, tp, expert_ways)


def state_widths(case: Case, zero: Any, shard: Any, offload: Any, hpz: Any) -> dict[str, Any]:
    """Bytes per parameter by kind of state; float arrays of the columns' shape."""
    state = _by_stage(case, zero)
    ways = {
        kind: np.where(state[f"{kind}_sharded"], shard, 1)
        for kind in ("weights", "gradients", "optimizer")
    }
    secondary = np.where(hpz > 1, 2.0 / np.maximum(hpz, 1), 0.0)
    on_gpu = np.where(offload == 2, 0.0, state["weights"] / ways["weights"])
    return {
        "weights": on_gpu + state["gathered"] + secondary,
        "gradients": state["gradients"] / ways["gradients"],
        "optimizer": np.where(offload >= 1, 0.0, state["optimizer"] / ways["optimizer"]),
    }


def _by_stage(case: Case, zero: Any) -> dict[str, Any]:
    """The fields of `StateBytes` for a column of ZeRO stages."""
    states = [case.state(stage) for stage in range(4)]
    zero = np.asarray(zero)
    return {
        name: np.array([getattr(state, name) for state in states])[zero] for name in vars(states[0])
    }
