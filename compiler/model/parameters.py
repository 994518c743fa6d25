"""A model -> its exact number of parameters, by how tp, etp and ep divide them.

The division is Megatron-core's. Split over tp: matrices, the biases of column-parallel ones, the vocabulary
tables. Whole on every tp rank: norms, router, the biases of row-parallel matrices, learned positions, MLA's
down-projections. Split over etp * ep: routed experts (megatron/core/transformer/attention.py,
multi_latent_attention.py and mlp.py, megatron/core/models/gpt/gpt_model.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dsl.model import Model
from ..algebra import Column


@dataclass(frozen=True)
class Counts:
    """Parameters of a part of the model: split over tp, replicated on every tp rank, split over etp * ep."""

    sharded: int = 0
    replicated: int = 0
    experts: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.sharded + other.sharded,
            self.replicated + other.replicated,
            self.experts + other.experts,
        )

    def __mul__(self, times: int) -> Counts:
        return Counts(self.sharded * times, self.replicated * times, self.experts * times)

    __rmul__ = __mul__

    @property
    def total(self) -> int:
        return self.sharded + self.replicated + self.experts


def norm(model: Model, width: int) -> int:
    """Parameters of one normalisation: a scale, and a shift when it is a LayerNorm."""
    return width * (2 if model.norm == "layernorm" else 1)


def attention(model: Model) -> Counts:
    """One attention block without the norm before it."""
    return _latent_attention(model) if model.mla else _grouped_attention(model)


def _grouped_attention(model: Model) -> Counts:
    """Query, key, value and output projections: h (q + 2 kv) + q h; q and kv are the widths of all heads."""
    query = model.heads * model.head_size
    query_key_value = query + 2 * model.groups * model.head_size
    input_bias = query_key_value if model.bias or model.qkv_bias else 0
    return Counts(
        sharded=model.hidden * (query_key_value + query) + input_bias + _sinks(model),
        replicated=(model.hidden if model.bias else 0)
        + (2 * norm(model, model.head_size) if model.qk_norm else 0),
    )


def _sinks(model: Model) -> int:
    """A logit of each head that takes part in the softmax (gpt-oss; Megatron's learnable softmax)."""
    return model.heads if model.attention_sinks else 0


def _latent_attention(model: Model) -> Counts:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1); each compression ends in a norm."""
    head = model.qk_nope_head_dim + model.qk_rope_head_dim
    key_value_up = model.kv_lora_rank * model.heads * (model.qk_nope_head_dim + model.v_head_dim)
    key_value_down = model.hidden * (model.kv_lora_rank + model.qk_rope_head_dim)
    compressed_query = model.q_lora_rank or model.hidden
    query_up = compressed_query * model.heads * head
    query_down = model.q_lora_rank * model.hidden + norm(model, model.q_lora_rank)
    return Counts(
        sharded=query_up
        + key_value_up
        + model.heads * model.v_head_dim * model.hidden
        + _sinks(model),
        replicated=query_down
        + key_value_down
        + norm(model, model.kv_lora_rank)
        + (model.hidden if model.bias else 0),
    )


def _ffn(model: Model, width: int) -> Counts:
    """Two matrices h x width, or three when gated; the second bias belongs to a row-parallel matrix."""
    inputs = 2 if model.gated else 1
    biases = Counts(inputs * width, model.hidden) if model.bias else Counts()
    return Counts((inputs + 1) * model.hidden * width) + biases


def dense_ffn(model: Model) -> Counts:
    """One dense feed-forward block without the norm before it."""
    return _ffn(model, model.ffn)


def expert(model: Model) -> int:
    """One routed expert."""
    return _ffn(model, model.expert_width).total


def moe_ffn(model: Model) -> Counts:
    """Router (h x experts), shared experts as one block of their summed width, and all routed experts.

    With biases the router has one too (megatron/core/transformer/moe/router.py).
    """
    router = Counts(replicated=(model.hidden + (1 if model.bias else 0)) * model.experts)
    routed = Counts(experts=model.experts * expert(model))
    if not model.shared_experts:
        return router + routed
    return router + _ffn(model, model.shared_experts * model.expert_width) + routed


def _block(model: Model, feed_forward: Counts) -> Counts:
    norms = 1 if model.parallel_block else 2
    return attention(model) + feed_forward + Counts(replicated=norms * norm(model, model.hidden))


def dense_layer(model: Model) -> Counts:
    """One whole block with a dense feed-forward, both norms included."""
    return _block(model, dense_ffn(model))


def moe_layer(model: Model) -> Counts:
    """One whole block with routed experts, both norms included."""
    return _block(model, moe_ffn(model))


def embedding(model: Model, vocab: int | None = None, seq_len: int | None = None) -> Counts:
    """Token table, and the learned position table (`max_positions`, else `seq_len` rows).

    Raises ValueError when a learned table has no length.
    """
    rows = model.vocab if vocab is None else vocab
    return Counts(rows * model.hidden, _positions(model, seq_len) * model.hidden)


def _positions(model: Model, seq_len: int | None) -> int:
    if model.position != "learned":
        return 0
    rows = model.max_positions or seq_len
    if rows is None:
        raise ValueError("learned positions need `max_positions` or a sequence length")
    return rows


def head(model: Model, vocab: int | None = None) -> Counts:
    """Final norm and output matrix; a tied head has no matrix of its own."""
    rows = model.vocab if vocab is None else vocab
    matrix = 0 if model.tied else rows * model.hidden
    return Counts(matrix, norm(model, model.hidden))


def mtp(model: Model) -> Counts:
    """All multi-token-prediction layers, without the embedding and head that they share with the model.

    One is a block of the last layer's kind, the 2h x h projection that joins hidden state and embedding, and
    three norms (DeepSeek-V3, arXiv 2412.19437, 2.2; megatron/core/transformer/multi_token_prediction.py).
    """
    block = moe_layer(model) if model.moe_layers else dense_layer(model)
    joint = Counts(2 * model.hidden * model.hidden, 3 * norm(model, model.hidden))
    return (block + joint) * model.mtp_layers


def blocks(model: Model) -> Counts:
    """All transformer blocks, dense and MoE, without MTP."""
    dense = dense_layer(model) * (model.layers - model.moe_layers)
    return dense + (moe_layer(model) * model.moe_layers if model.moe_layers else Counts())


def total(model: Model, vocab: int | None = None, seq_len: int | None = None) -> int:
    """Parameters as publications count them: all experts, embedding and head, without MTP layers."""
    return (blocks(model) + embedding(model, vocab, seq_len) + head(model, vocab)).total


def active(model: Model, vocab: int | None = None, seq_len: int | None = None) -> int:
    """Parameters that one token uses: `total` with only `topk` of the routed experts.

    Embedding and head tables count whole, as Mistral and Qwen do; DeepSeek leaves the embedding out.
    """
    idle = model.moe_layers * (model.experts - model.topk) * expert(model) if model.moe else 0
    return total(model, vocab, seq_len) - idle


def padded_vocab(model: Model, tp: Column, multiple: int = 128) -> Column:
    """Vocabulary rounded up to a multiple of `multiple * tp`, as Megatron pads it (128 by default)."""
    step = multiple * tp
    return -(-model.vocab // step) * step


def per_rank(counts: Counts, tp: Column, expert_ways: Column) -> Column:
    """Parameters of the fullest rank; `tp` and `expert_ways` (etp * ep) are ints or integer arrays."""
    return counts.replicated - (-counts.sharded // tp) - (-counts.experts // expert_ways)
