"""The `model` block: what a decoder-only transformer is, and how its router and its weights begin."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .settings import Count, Doc, Factor, Frozen, Unit, Zero


class Model(Frozen):
    """A decoder-only transformer. Widths are counted in elements."""

    name: str = ""
    layers: Annotated[int, Unit("1"), Field(ge=1, le=10_000), Doc("transformer blocks")]
    hidden: Annotated[int, Unit("1"), Field(ge=1, le=10**6), Doc("width of the residual stream")]
    heads: Annotated[int, Unit("1"), Field(ge=1, le=10**5), Doc("query heads")]
    kv_heads: Annotated[Count | None, Doc("key and value heads; `heads` unless given")] = None
    head_dim: Annotated[Count | None, Doc("size of one head; hidden / heads unless given")] = None
    ffn: Annotated[Count, Doc("width of the dense feed-forward block")]
    vocab: Annotated[Count, Doc("vocabulary, unpadded")]
    gated: Annotated[
        bool, Doc("gated feed-forward (SwiGLU: three matrices) instead of a plain one (two)")
    ] = True
    activation: Annotated[
        Literal["silu", "gelu", "quick_gelu", "relu", "squared_relu"] | None,
        Doc("silu when gated, else gelu; quick_gelu is x sigmoid(1.702 x)"),
    ] = None
    glu_clamp: Annotated[
        float | None,
        Unit("1"),
        Field(gt=0, le=1e4),
        Doc("gated: the gate is cut off above it, the other factor at plus and minus it"),
    ] = None
    glu_offset: Annotated[
        float, Unit("1"), Field(ge=0, le=1e4), Doc("gated: added to the factor beside the gate")
    ] = 0.0
    parallel_block: Annotated[
        bool,
        Doc("attention and feed-forward read the same normalised input, and are added together"),
    ] = False
    norm: Annotated[Literal["rmsnorm", "layernorm"], Doc("normalisation")] = "rmsnorm"
    norm_eps: Annotated[
        float, Unit("1"), Field(gt=0, lt=1), Doc("added to the variance before its root")
    ] = 1e-5
    position: Annotated[Literal["rope", "learned", "none"], Doc("position embedding")] = "rope"
    rope_theta: Annotated[float, Unit("1"), Field(gt=0), Doc("base of the rotary wavelengths")] = (
        10_000.0
    )
    rope_scaling: Annotated[
        Literal["none", "linear", "llama3", "yarn"], Doc("how rope reaches beyond its first length")
    ] = "none"
    rope_factor: Annotated[
        float, Unit("1"), Field(ge=1, le=1e4), Doc("how many times longer sequences become")
    ] = 1.0
    rope_original_positions: Annotated[
        Count | None, Doc("llama3, yarn: length of the sequences before scaling")
    ] = None
    rope_low_freq: Annotated[Factor, Doc("llama3: up to so many turns, a wave is scaled")] = 1.0
    rope_high_freq: Annotated[Factor, Doc("llama3: from so many turns on, a wave stays")] = 4.0
    rope_beta_fast: Annotated[Factor, Doc("yarn: from so many turns on, a wave stays")] = 32.0
    rope_beta_slow: Annotated[Factor, Doc("yarn: up to so many turns, a wave is scaled")] = 1.0
    rope_mscale: Annotated[
        Factor, Doc("yarn: rotated parts are multiplied by 0.1 mscale ln(factor) + 1")
    ] = 1.0
    rope_mscale_all_dim: Annotated[
        Factor,
        Doc("yarn: the same for whole scores of latent attention, divided out of rotated parts"),
    ] = 0.0
    rope_truncate: Annotated[bool, Doc("yarn: bounds of the ramp are whole dimensions")] = True
    max_positions: Annotated[Count | None, Doc("learned position table; seq_len unless given")] = (
        None
    )
    bias: Annotated[bool, Doc("biases in every linear layer")] = False
    qkv_bias: Annotated[bool, Doc("biases in the query, key and value projections alone")] = False
    qk_norm: Annotated[bool, Doc("normalise queries and keys per head")] = False
    tied: Annotated[bool, Doc("output head shares the embedding's weights")] = False
    causal: Annotated[bool, Doc("a token sees only those before it")] = True
    window: Annotated[Count | None, Doc("sliding-window attention: keys that a token sees")] = None
    full_attention_every: Annotated[
        Zero,
        Doc("every n-th layer uses full attention, the others the sliding window; 0: none does"),
    ] = 0
    attention_sinks: Annotated[
        bool, Doc("each head learns a logit that takes part in the softmax and has no value")
    ] = False
    attention_softcap: Annotated[
        float | None,
        Unit("1"),
        Field(gt=0, le=1e6),
        Doc("scores s become c tanh(s / c) before the softmax"),
    ] = None
    logit_softcap: Annotated[
        float | None, Unit("1"), Field(gt=0, le=1e6), Doc("the same for the output's logits")
    ] = None
    experts: Annotated[Zero, Doc("routed experts per MoE layer; 0 is a dense model")] = 0
    topk: Annotated[Zero, Doc("routed experts that a token visits")] = 0
    expert_ffn: Annotated[Count | None, Doc("width of one expert; `ffn` unless given")] = None
    shared_experts: Annotated[Zero, Doc("experts that every token visits")] = 0
    dense_layers: Annotated[Zero, Doc("leading layers that stay dense in an MoE model")] = 0
    router_score: Annotated[
        Literal["softmax", "sigmoid"], Doc("what the router's logits become")
    ] = "softmax"
    router_norm: Annotated[
        bool, Doc("the scores of a token's chosen experts are divided by their sum")
    ] = True
    router_scale: Annotated[
        float, Unit("1"), Field(gt=0, le=1e4), Doc("factor on the scores of the chosen experts")
    ] = 1.0
    router_groups: Annotated[
        Count | None, Doc("groups of experts, of which a token visits `router_limited_groups`")
    ] = None
    router_limited_groups: Annotated[Count | None, Doc("groups that a token visits")] = None
    router_bias_rate: Annotated[
        float,
        Unit("1"),
        Field(ge=0, le=1),
        Doc("step by which each expert's bias for the choice moves towards balance; 0: no bias"),
    ] = 0.0
    aux_loss: Annotated[Factor, Doc("weight of the loss that balances the experts; 0 for none")] = (
        0.0
    )
    aux_loss_over: Annotated[
        Literal["micro_batch", "sequence", "global_batch"], Doc("what that loss balances")
    ] = "micro_batch"
    z_loss: Annotated[Factor, Doc("weight of the loss on the size of the router's logits")] = 0.0
    q_lora_rank: Annotated[Zero, Doc("MLA: rank of the query compression, 0 for none")] = 0
    kv_lora_rank: Annotated[
        Zero, Doc("MLA: rank of the key/value compression; above 0 switches MLA on")
    ] = 0
    qk_nope_head_dim: Annotated[Zero, Doc("MLA: per-head query/key size without position")] = 0
    qk_rope_head_dim: Annotated[Zero, Doc("MLA: per-head query/key size with rope")] = 0
    v_head_dim: Annotated[Zero, Doc("MLA: per-head value size")] = 0
    mtp_layers: Annotated[Zero, Doc("multi-token-prediction layers after the last block")] = 0
    mtp_weight: Annotated[Factor, Doc("weight of the loss of multi-token prediction")] = 0.1
    init_std: Annotated[
        float,
        Unit("1"),
        Field(gt=0, le=10),
        Doc("standard deviation of the matrices before training"),
    ] = 0.02
    init_scaled: Annotated[
        bool, Doc("those that write to the residual stream begin with init_std / sqrt(2 layers)")
    ] = True

    @property
    def groups(self) -> int:
        return self.kv_heads or self.heads

    @property
    def head_size(self) -> int:
        return self.head_dim or self.hidden // self.heads

    @property
    def expert_width(self) -> int:
        return self.expert_ffn or self.ffn

    @property
    def moe(self) -> bool:
        return self.experts > 0

    @property
    def mla(self) -> bool:
        return self.kv_lora_rank > 0

    @property
    def moe_layers(self) -> int:
        return self.layers - self.dense_layers if self.moe else 0

    @property
    def activation_name(self) -> str:
        return self.activation or ("silu" if self.gated else "gelu")
