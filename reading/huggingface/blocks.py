"""Settings of every family: sizes, biases and activation of a config.json -> settings of `model`."""

from __future__ import annotations

from collections.abc import Mapping

from .config import Config
from .rope import Settings

#: Setting -> keys of transformers that mean it; a family may have others.
SIZES: Mapping[str, tuple[str, ...]] = {
    "hidden": ("hidden_size",),
    "heads": ("num_attention_heads",),
    "ffn": ("intermediate_size",),
    "vocab": ("vocab_size",),
}
#: transformers' name of an activation (activations.py, ACT2FN) -> the language's. The tanh form of
# gelu differs
#: from the exact one by less than 5e-4 anywhere.
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_python": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "quick_gelu": "quick_gelu",
    "relu": "relu",
    "relu2": "squared_relu",
}


def sizes(config: Config, keys: Mapping[str, tuple[str, ...]] = SIZES) -> Settings:
    """Layers and widths."""
    layers = config.layers(*keys.get("layers", ()))
    widths = {name: config.size(*names) for name, names in keys.items() if name != "layers"}
    return {"layers": layers, **widths}


def heads(config: Config) -> Settings:
    """Key and value heads, and their size where it is not hidden / heads."""
    found: Settings = {}
    if groups := config.whole("num_key_value_heads"):
        found["kv_heads"] = groups
    if size := config.whole("head_dim"):
        found["head_dim"] = size
    return found


def rms(config: Config) -> Settings:
    return {"norm_eps": config.number("rms_norm_eps")}


def layernorm(config: Config, key: str) -> Settings:
    return {"norm": "layernorm", "norm_eps": config.number(key)}


def gated(config: Config, key: str = "hidden_act") -> Settings:
    """A gated block, whose activation is silu unless said."""
    name = activation(config, key)
    return {} if name in ("", "silu") else {"activation": name}


def plain(config: Config, key: str) -> Settings:
    """Two matrices, with gelu between unless said."""
    name = activation(config, key)
    found: Settings = {"gated": False}
    return found if name in ("", "gelu") else found | {"activation": name}


def activation(config: Config, key: str) -> str:
    """The language's name of an activation; empty for one that it lacks."""
    name = config.word(key)
    if name not in ACTIVATIONS:
        config.unsay(key, "the language has no such activation")
    return ACTIVATIONS.get(name, "")


def ends(config: Config) -> Settings:
    """The shared table of tokens, and how wide the first weights spread."""
    return {
        "tied": config.flag("tie_word_embeddings"),
        "init_std": config.number("initializer_range"),
    }


def biases(config: Config) -> Settings:
    """`attention_bias` is of all four projections, `mlp_bias` of the feed-forward block (LlamaAttention,
    LlamaMLP of transformers)."""
    attention, block = config.flag("attention_bias"), config.flag("mlp_bias")
    if attention and block:
        return {"bias": True}
    if block:
        config.unsay(
            "mlp_bias",
            "the language has biases in all linear layers, or in queries, keys and values",
        )
    if attention:
        config.unsay("attention_bias", "the attention's output has no bias here")
    return {"qkv_bias": True} if attention else {}
