"""Floating-point operations that a model needs for one token: `Model` in, FLOP by part out.

Parts are of the forward pass. A multiplication and an addition count as two. The backward pass computes each
product twice, so training takes three times the forward FLOP. Recomputation is not part of model FLOP.
Formulas: Narayanan et al. 2021 (arXiv 2104.04473, appendix), as Megatron-LM's `num_floating_point_operations`
(megatron/training/training.py) extends them to grouped and latent attention, gating, experts and MTP.
Router, norms, rotary embedding and softmax are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from ...dsl.model import Model
from ..algebra import Column

Convention = Literal["halved", "full"]

#: Forward, gradient of the input, gradient of the weights.
PASSES = 3


@dataclass(frozen=True)
class Flops:
    """FLOP of one token in the whole model, by part."""

    attention_linear: float
    attention_core: float
    dense_ffn: float
    moe_ffn: float
    head: float
    mtp: float

    @property
    def total(self) -> float:
        return float(sum(getattr(self, field.name) for field in fields(self)))

    def __mul__(self, times: float) -> Flops:
        return Flops(*(getattr(self, field.name) * times for field in fields(self)))

    __rmul__ = __mul__


def attention_linear(model: Model) -> int:
    """Forward FLOP per token of one layer's attention projections."""
    return 2 * (_latent_weights(model) if model.mla else _grouped_weights(model))


def _grouped_weights(model: Model) -> int:
    return 2 * model.hidden * model.head_size * (model.heads + model.groups)


def _latent_weights(model: Model) -> int:
    """Down- and up-projections of MLA; the + 1 is the norm of each compression, which Megatron counts."""
    query_width = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim)
    query = (
        model.q_lora_rank * (model.hidden + query_width + 1)
        if model.q_lora_rank
        else model.hidden * query_width
    )
    key_value_width = model.heads * (model.qk_nope_head_dim + model.v_head_dim)
    key_value = model.kv_lora_rank * (model.hidden + key_value_width + 1)
    output = model.heads * model.v_head_dim * model.hidden
    return query + key_value + model.hidden * model.qk_rope_head_dim + output


def up_projections(model: Model) -> int:
    """Forward FLOP per token of the products of one layer's latent attention that make queries, keys and
    values."""
    query_width = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim)
    key_value_width = model.heads * (model.qk_nope_head_dim + model.v_head_dim)
    queries = (model.q_lora_rank or model.hidden) * query_width
    return 2 * (queries + model.kv_lora_rank * key_value_width)


def keys_seen(model: Model, seq_len: Column, convention: Convention = "halved") -> Column:
    """Keys that a query attends to on average; `seq_len` may be an array.

    "full" counts every key of the sequence or window, though causal attention masks half of them. Where every
    nth layer sees all keys, this is the mean over layers.
    """
    everything = seq_len / 2 if model.causal and convention == "halved" else seq_len
    if model.window is None:
        return everything
    if not model.full_attention_every:
        return _window_keys(model, model.window, seq_len, convention)
    share = model.layers // model.full_attention_every / model.layers
    windowed = _window_keys(model, model.window, seq_len, convention)
    return share * everything + (1 - share) * windowed


def _window_keys(model: Model, width: int, seq_len: Column, convention: Convention) -> Column:
    window = width + 0 * seq_len
    window = window * (window < seq_len) + seq_len * (window >= seq_len)
    if not model.causal or convention == "full":
        return window
    return window * (1 - window / (2 * seq_len))


def attention_core(model: Model, seq_len: Column, convention: Convention = "halved") -> Column:
    """Forward FLOP per token of one layer's QK^T and PV products."""
    return 2 * model.heads * score_widths(model) * keys_seen(model, seq_len, convention)


def score_widths(model: Model) -> int:
    """Multiplications of one head per score: query times key, and score times value."""
    if model.mla:
        return model.qk_nope_head_dim + model.qk_rope_head_dim + model.v_head_dim
    return 2 * model.head_size


def _ffn(model: Model, width: int) -> int:
    return 2 * model.hidden * width * (3 if model.gated else 2)


def dense_ffn(model: Model) -> int:
    """Forward FLOP per token of one dense feed-forward block."""
    return _ffn(model, model.ffn)


def moe_ffn(model: Model) -> int:
    """Forward FLOP per token of one MoE block: the chosen routed experts and the shared ones."""
    return _ffn(model, model.expert_width * (model.topk + model.shared_experts))


def head(model: Model, vocab: int | None = None) -> int:
    """Forward FLOP per token of one output projection; `vocab` is the padded vocabulary."""
    return 2 * model.hidden * (vocab or model.vocab)


def mtp(
    model: Model, seq_len: Column, vocab: int | None = None, convention: Convention = "halved"
) -> Column:
    """Forward FLOP per token of all MTP layers: block, joint projection (3h for the norms), head again."""
    if not model.mtp_layers:
        return 0
    block = attention_linear(model) + attention_core(model, seq_len, convention)
    block += moe_ffn(model) if model.moe_layers else dense_ffn(model)
    joint = 2 * (3 * model.hidden + 2 * model.hidden * model.hidden)
    return model.mtp_layers * (block + joint + head(model, vocab))


def forward(
    model: Model, seq_len: int, vocab: int | None = None, convention: Convention = "halved"
) -> Flops:
    """Forward FLOP of one token in a sequence of `seq_len`, through the whole model."""
    return Flops(
        attention_linear=model.layers * attention_linear(model),
        attention_core=float(model.layers * attention_core(model, seq_len, convention)),
        dense_ffn=(model.layers - model.moe_layers) * dense_ffn(model),
        moe_ffn=model.moe_layers * moe_ffn(model),
        head=head(model, vocab),
        mtp=float(mtp(model, seq_len, vocab, convention)),
    )


def training(
    model: Model, seq_len: int, vocab: int | None = None, convention: Convention = "halved"
) -> Flops:
    """Forward and backward FLOP of one token: what model FLOPs utilisation counts."""
    return PASSES * forward(model, seq_len, vocab, convention)
