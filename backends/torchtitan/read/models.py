"""A registered model of torchtitan -> values of the language's `model` block, with torchtitan's defaults."""

from collections.abc import Callable, Mapping
from typing import Any

from ....reading.facts import Unknown
from ...described import known
from .sources import Registered

Values = dict[str, Any]
Arguments = Mapping[str, Any]

#: What torchtitan 0.2.2 takes for what a call leaves out (models/*/model/args.py, models/moe/moe.py:23).
DEFAULTS: dict[str, Values] = {
    "TransformerModelArgs": {
        "vocab_size": 128256, "norm_eps": 1e-5, "rope_theta": 10000.0, "multiple_of": 256,
        "rope_scaling_args": {},
    },
    "Qwen3ModelArgs": {
        "vocab_size": 151936, "head_dim": 128, "hidden_dim": 3072, "norm_eps": 1e-6, "rope_theta": 1e6,
        "qk_norm": True, "moe_inter_dim": 768,
    },
    "DeepSeekV3ModelArgs": {
        "vocab_size": 102400, "inter_dim": 10944, "moe_inter_dim": 1408, "n_dense_layers": 1,
        "norm_eps": 1e-5, "q_lora_rank": 0, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "original_seq_len": 4096, "rope_theta": 10000.0,
        "rope_factor": 40.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
    },
    "GptOssModelArgs": {
        "vocab_size": 201088, "moe_inter_dim": 2880, "norm_eps": 1e-5, "swiglu_limit": 7.0, "head_dim": 64,
        "sliding_window_size": 128, "original_seq_len": 4096, "rope_theta": 150000.0, "rope_factor": 32.0,
        "ntk_alpha": 1.0, "ntk_beta": 32.0,
    },
}  # fmt: skip
SCALING: Values = {
    "scaling_factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
EXPERTS: Values = {
    "num_experts": 8, "num_shared_experts": 1, "top_k": 1, "score_func": "sigmoid", "route_norm": False,
    "route_scale": 1.0, "num_expert_groups": None, "num_limited_groups": None, "load_balance_coeff": 1e-3,
}  # fmt: skip
#: Setting of the language -> argument, where they say the same.
COMMON = {"vocab": "vocab_size", "norm_eps": "norm_eps", "rope_theta": "rope_theta"}
LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
#: parc's own class of deepseek_v3's arguments, which has YaRN in sequences of every length.
SCALED_ALWAYS = "JobArgs"


def model_values(found: Registered, seq_len: int | None) -> Values:
    """`seq_len` decides whether deepseek_v3 scales: it does so beyond the original length alone."""
    kind = "DeepSeekV3ModelArgs" if found.kind == SCALED_ALWAYS else found.kind
    arguments = {**DEFAULTS.get(kind, {}), **found.arguments}
    values = {name: arguments.get(argument) for name, argument in COMMON.items()}
    values |= _KINDS[kind](found, arguments) if kind in _KINDS else {}
    if kind == "DeepSeekV3ModelArgs":
        values |= _latent_yarn(found, arguments, seq_len)
    values |= _first_weights(found)
    return known(**{name: _said(value) for name, value in values.items()})


def _said(value: Any) -> Any:
    return None if isinstance(value, Unknown) else value


def _first_weights(found: Registered) -> Values:
    """Constants of parc's own files; torchtitan's models begin otherwise, and say nothing."""
    std, residual = found.constants.get("INIT_STD"), found.constants.get("RESIDUAL_STD")
    if std is None:
        return {}
    return {"init_std": std, "init_scaled": None if residual != std else False}


def _llama3(found: Registered, arguments: Arguments) -> Values:
    """The feed-forward width follows from three arguments (models/llama3/model/model.py:332)."""
    scaling = arguments["rope_scaling_args"]
    return {"ffn": _width(arguments)} | (_scaled(scaling) if isinstance(scaling, dict) else {})


def _width(arguments: Arguments) -> int | None:
    width, multiple = arguments.get("dim"), arguments.get("multiple_of")
    multiplier = arguments.get("ffn_dim_multiplier")
    if not isinstance(width, int) or not isinstance(multiple, int):
        return None
    size = int(2 * 4 * width / 3)
    size = int(multiplier * size) if isinstance(multiplier, int | float) else size
    return -(-size // multiple) * multiple


def _scaled(given: Arguments) -> Values:
    scaling = {**SCALING, **given}
    if scaling["scaling_factor"] == 1.0:
        return {}
    return {
        "rope_scaling": "llama3",
        "rope_factor": scaling["scaling_factor"],
        "rope_low_freq": scaling["low_freq_factor"],
        "rope_high_freq": scaling["high_freq_factor"],
        "rope_original_positions": scaling["original_max_position_embeddings"],
    }


def _qwen3(found: Registered, arguments: Arguments) -> Values:
    values = {
        "ffn": arguments["hidden_dim"],
        "head_dim": arguments["head_dim"],
        "qk_norm": arguments["qk_norm"] or None,
        "tied": arguments.get("enable_weight_tying") or None,
    }
    scaling = found.constants.get("ROPE_SCALING")
    values |= _scaled(scaling) if isinstance(scaling, dict) else {}
    if not arguments.get("moe_enabled"):
        return values
    routed = _routed(arguments)
    if not found.constants.get("balancing"):
        routed.pop("router_bias_rate", None)
    return values | routed | {"expert_ffn": arguments["moe_inter_dim"]}


def _deepseek_v3(found: Registered, arguments: Arguments) -> Values:
    values: Values = {name: arguments[name] for name in LATENT}
    values["ffn"] = arguments["inter_dim"]
    if arguments["n_dense_layers"] == arguments.get("n_layers"):
        return values
    values |= {"dense_layers": arguments["n_dense_layers"]}
    return values | _routed(arguments) | {"expert_ffn": arguments["moe_inter_dim"]}


def _latent_yarn(found: Registered, arguments: Arguments, seq_len: int | None) -> Values:
    factor, original = arguments["rope_factor"], arguments["original_seq_len"]
    acts = found.kind == SCALED_ALWAYS or (seq_len is not None and seq_len > original)
    if factor == 1.0 or not acts:
        return {}
    return {
        "rope_scaling": "yarn",
        "rope_factor": factor,
        "rope_original_positions": original,
        "rope_beta_fast": float(arguments["beta_fast"]),
        "rope_beta_slow": float(arguments["beta_slow"]),
        "rope_mscale": arguments["mscale"],
        "rope_mscale_all_dim": arguments["mscale"],
    }


def _gpt_oss(found: Registered, arguments: Arguments) -> Values:
    values: Values = {
        "ffn": arguments["moe_inter_dim"],
        "head_dim": arguments["head_dim"],
        "bias": True,
        "window": arguments["sliding_window_size"],
        "full_attention_every": 2,
        "attention_sinks": True,
        "activation": "quick_gelu",
        "glu_clamp": arguments["swiglu_limit"],
        "glu_offset": 1.0,
    }
    if arguments["rope_factor"] > 1:
        values |= {
            "rope_scaling": "yarn",
            "rope_factor": arguments["rope_factor"],
            "rope_original_positions": arguments["original_seq_len"],
            "rope_beta_fast": arguments["ntk_beta"],
            "rope_beta_slow": arguments["ntk_alpha"],
            "rope_truncate": False,
        }
    return values | _routed(arguments)


def _routed(arguments: Arguments) -> Values:
    given = arguments.get("moe_args")
    return router_values({**EXPERTS, **(given if isinstance(given, dict) else {})})


def router_values(experts: Arguments) -> Values:
    return {
        "experts": experts["num_experts"],
        "topk": experts["top_k"],
        "shared_experts": experts["num_shared_experts"] or None,
        "router_score": experts["score_func"],
        "router_norm": experts["route_norm"],
        "router_scale": experts["route_scale"],
        "router_groups": experts["num_expert_groups"],
        "router_limited_groups": experts["num_limited_groups"],
        "router_bias_rate": experts["load_balance_coeff"],
    }


def _python(found: Registered, arguments: Arguments) -> Values:
    """parc_job.py of 0.3.0: its constants, and the arguments of its calls by name."""
    experts = arguments.get("num_experts") is not None
    values = {
        "ffn": arguments.get("ffn", arguments.get("expert_ffn")),
        "head_dim": arguments.get("head_dim"),
        "qk_norm": arguments.get("qk_norm"),
        "tied": arguments.get("enable_weight_tying"),
    }
    if arguments.get("scaling") == "llama":
        values |= _scaled({name: arguments[name] for name in SCALING if name in arguments})
    if not experts:
        return values
    return (
        values | router_values({**EXPERTS, **arguments}) | {"expert_ffn": arguments["expert_ffn"]}
    )


_KINDS: dict[str, Callable[[Registered, Arguments], Values]] = {
    "TransformerModelArgs": _llama3,
    "Qwen3ModelArgs": _qwen3,
    "DeepSeekV3ModelArgs": _deepseek_v3,
    "GptOssModelArgs": _gpt_oss,
    "parc_job": _python,
}
