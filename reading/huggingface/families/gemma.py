"""Gemma 2 and 3."""

from __future__ import annotations

from ..blocks import biases, ends, gated, heads, rms, sizes
from ..config import Config
from ..rope import Settings, rope
from ..windows import alternating, windows


def gemma2(config: Config) -> Settings:
    """Windows in every other layer, and caps on scores and logits."""
    found = _gemma(config)
    layers = int(found["layers"])
    return found | windows(config, layers, alternating(layers, 2))


def gemma3(config: Config) -> Settings:
    """Windows in five layers of six, whose positions have another base; norms of queries and keys."""
    found = _gemma(config) | {"qk_norm": True}
    layers = int(found["layers"])
    every = config.whole("sliding_window_pattern", "_sliding_window_pattern") or 6
    if "rope_parameters" not in config.values:
        config.unsay(
            "rope_local_base_freq", "layers with a window have the positions of the others"
        )
    if config.has("rope_scaling"):
        config.unsay("rope_scaling", "Gemma scales RoPE only in full-attention layers, parc in all")
    return found | windows(config, layers, alternating(layers, every))


def _gemma(config: Config) -> Settings:
    """Gemma2DecoderLayer and Gemma2RMSNorm of transformers."""
    config.differs(
        "the model normalises before and after attention and feed-forward, parc only before them"
    )
    config.differs("norms multiply by 1 + weight, and embeddings by the root of hidden")
    if config.number("query_pre_attn_scalar") != config.whole("head_dim"):
        config.unsay("query_pre_attn_scalar", "scores are divided by the root of the head size")
    if config.flag("use_bidirectional_attention"):
        config.unsay("use_bidirectional_attention", "a token sees only those before it")
    found = {
        **sizes(config),
        **heads(config),
        **gated(config, "hidden_activation"),
        **rms(config),
        **rope(config),
        **biases(config),
        **ends(config),
    }
    config.read("hidden_act", "sliding_window_size")
    return found | _caps(config)


def _caps(config: Config) -> Settings:
    caps = {
        "attention_softcap": config.number("attn_logit_softcapping"),
        "logit_softcap": config.number("final_logit_softcapping"),
    }
    return {name: cap for name, cap in caps.items() if cap}
