"""Plain blocks with layer norms: GPT-2, GPT-NeoX and Pythia, Falcon; and gpt-oss, which has neither."""

from __future__ import annotations

from ..blocks import ends, heads, layernorm, plain, rms, sizes
from ..config import Config
from ..rope import Settings, rope
from ..windows import alternating, windows


def gpt2(config: Config) -> Settings:
    keys = {
        "layers": ("n_layer", "num_hidden_layers"),
        "hidden": ("n_embd", "hidden_size"),
        "heads": ("n_head", "num_attention_heads"),
        "vocab": ("vocab_size",),
    }
    found = sizes(config, keys)
    for key in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        if config.flag(key):
            config.unsay(key, "the language has no such attention")
    return {
        **found,
        "ffn": config.whole("n_inner") or 4 * int(found["hidden"]),
        **plain(config, "activation_function"),
        **layernorm(config, "layer_norm_epsilon"),
        **ends(config),
        "position": "learned",
        "max_positions": config.size("n_positions", "n_ctx", "max_position_embeddings"),
        "bias": True,
    }


def gpt_neox(config: Config) -> Settings:
    """GPTNeoXLayer: in parallel, attention and feed-forward have a norm each."""
    parallel = config.flag("use_parallel_residual")
    if parallel:
        config.unsay("use_parallel_residual", "attention and feed-forward share one norm")
    if not config.flag("attention_bias"):
        config.unsay("attention_bias", "attention has biases as the feed-forward block does")
    return {
        **sizes(config),
        **plain(config, "hidden_act"),
        **layernorm(config, "layer_norm_eps"),
        **rope(config),
        **ends(config),
        "bias": True,
        "parallel_block": parallel,
    }


def falcon(config: Config) -> Settings:
    """FalconAttention: `num_kv_heads` counts in the new decoder, else one key and value head where
    `multi_query`. FalconDecoderLayer: the new decoder is parallel, with a norm each unless
    `num_ln_in_parallel_attn` is 1.
    """
    new = config.flag("new_decoder_architecture")
    groups = config.whole("num_kv_heads") if new else int(config.flag("multi_query"))
    keys = {
        "layers": ("num_hidden_layers", "n_layer"),
        "hidden": ("hidden_size", "n_embed"),
        "heads": ("num_attention_heads", "n_head"),
        "vocab": ("vocab_size",),
    }
    found = sizes(config, keys)
    parallel = new or config.flag("parallel_attn")
    if new and config.whole("num_ln_in_parallel_attn") != 1:
        config.unsay("new_decoder_architecture", "attention and feed-forward share one norm")
    config.read("num_kv_heads", "multi_query", "parallel_attn", "num_ln_in_parallel_attn")
    return {
        **found,
        "kv_heads": groups or int(found["heads"]),
        "ffn": config.whole("ffn_hidden_size") or 4 * int(found["hidden"]),
        **plain(config, "activation"),
        **layernorm(config, "layer_norm_epsilon"),
        **_falcon_positions(config),
        **ends(config),
        "bias": config.flag("bias"),
        "parallel_block": parallel,
    }


def _falcon_positions(config: Config) -> Settings:
    if not config.flag("alibi"):
        return rope(config)
    config.unsay("alibi", "the language has no slopes of scores; its model knows no positions")
    return {"position": "none"}


def gpt_oss(config: Config) -> Settings:
    """GptOssExperts: a clamped gate of x sigmoid(1.702 x), 1 added to the other factor, biases everywhere;
    GptOssAttention: sinks, windows in every other layer."""
    config.read(
        "hidden_act",
        "experts_per_token",
        "attention_bias",
        "initial_context_length",
        "swiglu_alpha",
    )
    found = {
        **sizes(config),
        **heads(config),
        **rms(config),
        **rope(config),
        **ends(config),
        "bias": True,
        "activation": "quick_gelu",
        "glu_clamp": config.number("swiglu_limit"),
        "glu_offset": 1,
        "attention_sinks": True,
        "experts": config.size("num_local_experts", "num_experts"),
        "topk": config.size("num_experts_per_tok"),
        "aux_loss": config.number("router_aux_loss_coef"),
    }
    layers = int(found["layers"])
    return found | windows(config, layers, alternating(layers, 2))
