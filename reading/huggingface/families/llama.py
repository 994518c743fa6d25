"""Llama and those with its blocks: Mistral, Mixtral, Granite, Phi-3 and 4, OLMo 2 and 3, Llama 4."""

from __future__ import annotations

from ..blocks import biases, ends, gated, heads, rms, sizes
from ..config import Config
from ..experts import dense_layers, shared_experts
from ..rope import Settings, rope
from ..windows import alternating, windows


def llama(config: Config) -> Settings:
    return {
        **sizes(config),
        **heads(config),
        **gated(config),
        **rms(config),
        **rope(config),
        **biases(config),
        **ends(config),
    }


def mistral(config: Config) -> Settings:
    """Every layer has the window."""
    found = llama(config)
    layers = int(found["layers"])
    return found | windows(config, layers, [True] * layers)


def mixtral(config: Config) -> Settings:
    """MixtralSparseMoeBlock divides the chosen scores by their sum."""
    return mistral(config) | {
        "experts": config.size("num_local_experts", "num_experts"),
        "topk": config.size("num_experts_per_tok"),
        "aux_loss": config.number("router_aux_loss_coef"),
    }


def granite(config: Config) -> Settings:
    """Four factors that are 1 in the language; attention's is 1 / sqrt(head size)."""
    for key in ("embedding_multiplier", "logits_scaling", "residual_multiplier"):
        if config.number(key) not in (0.0, 1.0):
            config.unsay(key, "the language has no such factor")
    config.unsay("attention_multiplier", "scores are divided by the root of the head size")
    return llama(config)


def phi3(config: Config) -> Settings:
    """Fused projections, which are as many parameters as single ones."""
    return mistral(config)


def olmo2(config: Config) -> Settings:
    """Olmo2DecoderLayer and Olmo2Attention of transformers."""
    config.differs("the model normalises after attention and feed-forward, parc before them")
    config.differs("queries and keys are normalised over all heads together, here head by head")
    return llama(config) | {"qk_norm": True}


def olmo3(config: Config) -> Settings:
    found = olmo2(config)
    layers = int(found["layers"])
    return found | windows(config, layers, alternating(layers, 4))


def llama4(config: Config) -> Settings:
    """Llama4TextMoe: scores are sigmoids of the chosen logits, a shared expert is as wide as a routed
    one; layers without experts have the width `intermediate_size_mlp`."""
    found = llama(config) | {"qk_norm": config.flag("use_qk_norm")}
    expert_ffn = int(found["ffn"])
    _named(config)
    return {
        **found,
        "ffn": config.size("intermediate_size_mlp"),
        "expert_ffn": expert_ffn,
        "experts": config.size("num_local_experts"),
        "topk": config.size("num_experts_per_tok"),
        "router_score": "sigmoid",
        "router_norm": False,
        "aux_loss": config.number("router_aux_loss_coef"),
        **shared_experts(config, expert_ffn, expert_ffn, "intermediate_size"),
        **dense_layers(config, "interleave_moe_layer_step", _sparse(config, int(found["layers"]))),
    }


def _sparse(config: Config, layers: int) -> list[bool]:
    step = config.size("interleave_moe_layer_step")
    given = config.items("moe_layers")
    if given is not None:
        return [layer in given for layer in range(layers)]
    return [(layer + 1) % step == 0 for layer in range(layers)]


def _named(config: Config) -> None:
    """Names the features of Llama4TextAttention and Llama4TextMoe that the language does not have."""
    config.differs("scores weigh what goes into an expert, here what comes out")
    if config.flag("use_qk_norm"):
        config.unsay("use_qk_norm", "it has no weights, and comes behind the positions")
    config.unsay("no_rope_layers no_rope_layer_interval", "every layer has rope")
    config.unsay("attention_chunk_size layer_types", "tokens see all before them, not a chunk's")
    if config.get("attn_temperature_tuning"):
        config.unsay(
            "attn_temperature_tuning floor_scale attn_scale", "queries are not scaled by position"
        )
