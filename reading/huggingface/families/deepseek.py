"""DeepSeek-V2, V3 and R1, Kimi K2 with their blocks, and GLM-4.5 with their router."""

from __future__ import annotations

from ..blocks import ends, gated, heads, rms, sizes
from ..config import Config
from ..experts import dense_layers
from ..rope import Settings, rope

#: Step of each expert's bias for the choice: DeepSeek-V3, arXiv 2412.19437, section 4.2; Kimi K2 and GLM-4.5
#: (arXiv 2508.06471, section 2.4) as well. No config.json says it.
BIAS_RATE = 0.001


def deepseek_v2(config: Config) -> Settings:
    """DeepseekV2TopkRouter: softmax over all experts; groups are limited where `topk_method` says so."""
    return _latent(config) | _router(config, "softmax")


def deepseek_v3(config: Config) -> Settings:
    """DeepseekV3TopkRouter: sigmoid, and a bias that balances the choice."""
    return _latent(config) | _router(config, "sigmoid") | _multi_token(config)


def glm4_moe(config: Config) -> Settings:
    """Grouped attention with DeepSeek-V3's experts; queries, keys and values may have biases
    (Glm4MoeAttention)."""
    return {
        **sizes(config),
        **heads(config),
        **gated(config),
        **rms(config),
        **rope(config),
        **ends(config),
        **_experts(config),
        **_router(config, "sigmoid"),
        **_multi_token(config),
        "qkv_bias": config.flag("attention_bias"),
        "qk_norm": config.flag("use_qk_norm"),
    }


def _latent(config: Config) -> Settings:
    config.read("num_key_value_heads", "head_dim", "qk_head_dim")
    if config.flag("attention_bias"):
        config.unsay("attention_bias", "latent attention has no biases here")
    return {
        **sizes(config),
        **gated(config),
        **rms(config),
        **rope(config),
        **ends(config),
        **_experts(config),
        "q_lora_rank": config.whole("q_lora_rank"),
        "kv_lora_rank": config.size("kv_lora_rank"),
        "qk_nope_head_dim": config.size("qk_nope_head_dim"),
        "qk_rope_head_dim": config.size("qk_rope_head_dim"),
        "v_head_dim": config.size("v_head_dim"),
    }


def _experts(config: Config) -> Settings:
    layers, first = config.size("num_hidden_layers"), config.whole("first_k_dense_replace")
    step = config.whole("moe_layer_freq") or 1
    sparse = [layer >= first and layer % step == 0 for layer in range(layers)]
    return {
        "experts": config.size("n_routed_experts", "num_local_experts"),
        "topk": config.size("num_experts_per_tok"),
        "expert_ffn": config.size("moe_intermediate_size"),
        "shared_experts": config.whole("n_shared_experts"),
        **dense_layers(config, "moe_layer_freq", sparse),
    }


def _router(config: Config, score: str) -> Settings:
    """The published files name score and method; transformers' classes have those of their family."""
    score = config.word("scoring_func") or score
    method = config.word("topk_method") or "noaux_tc"
    found: Settings = {
        "router_score": score,
        "router_norm": config.flag("norm_topk_prob"),
        "router_scale": config.number("routed_scaling_factor") or 1.0,
        **_groups(config, method),
        **_balance(config),
    }
    return found | ({"router_bias_rate": BIAS_RATE} if method == "noaux_tc" else {})


def _groups(config: Config, method: str) -> Settings:
    groups, limited = config.whole("n_group"), config.whole("topk_group")
    if groups < 2 or method == "greedy":
        return {}
    return {"router_groups": groups, "router_limited_groups": limited or groups}


def _balance(config: Config) -> Settings:
    """`aux_loss_alpha` and `seq_aux` are of the published files alone."""
    weight = config.number("aux_loss_alpha", "router_aux_loss_coef")
    over = "sequence" if config.flag("seq_aux") else "micro_batch"
    return {"aux_loss": weight, "aux_loss_over": over} if weight else {}


def _multi_token(config: Config) -> Settings:
    return {"mtp_layers": config.whole("num_nextn_predict_layers", "num_mtp_layers")}
