"""Qwen2, 2.5 and 3, dense and with experts."""

from __future__ import annotations

from ..blocks import ends, gated, heads, rms, sizes
from ..config import Config
from ..experts import dense_layers, shared_experts, sparse_layers
from ..rope import Settings, rope
from ..windows import windows
from .llama import llama


def qwen2(config: Config) -> Settings:
    """Qwen2Attention has biases in queries, keys and values."""
    found = {
        **sizes(config),
        **heads(config),
        **gated(config),
        **rms(config),
        **rope(config),
        **ends(config),
        "qkv_bias": True,
    }
    return found | _windows(config, int(found["layers"]))


def qwen3(config: Config) -> Settings:
    found = llama(config) | {"qk_norm": True}
    return found | _windows(config, int(found["layers"]))


def _windows(config: Config, layers: int) -> Settings:
    """The first `max_window_layers` see all keys, where windows are used at all."""
    if not config.flag("use_sliding_window"):
        config.read("sliding_window", "max_window_layers", "layer_types")
        return {}
    first = config.whole("max_window_layers")
    return windows(config, layers, [layer >= first for layer in range(layers)])


def qwen2_moe(config: Config) -> Settings:
    """Qwen2MoeSparseMoeBlock: a shared expert, whose output a sigmoid gate of one logit weighs."""
    found = qwen2(config) | {"qkv_bias": config.flag("qkv_bias")} | _experts(config)
    width = config.size("shared_expert_intermediate_size")
    config.differs("a gate weighs the shared experts' output, here it is added as it is")
    key = "shared_expert_intermediate_size"
    return found | shared_experts(config, width, int(found["expert_ffn"]), key)


def qwen3_moe(config: Config) -> Settings:
    return qwen3(config) | _experts(config)


def _experts(config: Config) -> Settings:
    layers = config.size("num_hidden_layers")
    return {
        "experts": config.size("num_experts", "num_local_experts"),
        "topk": config.size("num_experts_per_tok"),
        "expert_ffn": config.size("moe_intermediate_size"),
        "router_norm": config.flag("norm_topk_prob"),
        "aux_loss": config.number("router_aux_loss_coef"),
        **dense_layers(config, "decoder_sparse_step", sparse_layers(config, layers)),
    }
