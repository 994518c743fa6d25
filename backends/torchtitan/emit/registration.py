"""A job's model -> what parc_model.py registers: arguments of torchtitan 0.2 that build exactly it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....dsl.job import Job
from ....dsl.model import Model
from ...languages import python
from ...languages.python import Python
from ..models import family, has_grouped_matmul
from ..options import options_of
from ..releases import Family, release

#: Optimizers that move the experts' biases; qwen3's own spec leaves them out (models/qwen3/__init__.py:200).
BALANCING = "build_optimizers_with_moe_load_balancing"


@dataclass(frozen=True)
class Registration:
    """How a size is added to torchtitan: `table[flavor] = arguments_class(**arguments)`, after `imports`.

    `base` is torchtitan's class of the model, `spec` what the job's spec has instead of torchtitan's.
    """

    family: Family
    table: str
    base: str
    imports: tuple[Python, ...]
    arguments_class: str
    arguments: Mapping[str, object]
    comments: dict[str, str]
    spec: dict[str, Python]


def registration(job: Job) -> Registration:
    return _BUILDERS[family(job)](job)


def _spec(job: Job) -> dict[str, Python]:
    spec = {"model_cls": python.name("JobModel")}
    return (
        spec | {"build_optimizers_fn": python.name(BALANCING)}
        if job.model.router_bias_rate
        else spec
    )


def _imports(job: Job, *modules: str) -> tuple[Python, ...]:
    found = list(modules)
    if job.model.router_bias_rate:
        found.append(f"from torchtitan.components.optimizer import {BALANCING}")
    if job.model.moe:
        found.append("from torchtitan.models.moe import MoEArgs")
    return tuple(map(python.code, sorted(found)))


def _common(job: Job) -> dict[str, Any]:
    model = job.model
    values: dict[str, Any] = {
        "dim": model.hidden,
        "n_layers": model.layers,
        "n_heads": model.heads,
        "vocab_size": model.vocab,
        "norm_eps": model.norm_eps,
        "rope_theta": model.rope_theta,
        "max_seq_len": job.train.seq_len,
    }
    if options_of(job).attention_kernel == "flex":
        name, value = release(job).flex
        values[name] = value
    return values


def ffn_multiplier(hidden: int, ffn: int) -> float:
    """The shortest `ffn_dim_multiplier` for which llama3's formula gives a width of exactly `ffn`.

    models/llama3/model/model.py:332: int(multiplier * int(2 * 4 * hidden / 3)), rounded up to `multiple_of`,
    which is 1 here.
    """
    base = int(2 * (4 * hidden) / 3)
    for digits in range(18):
        scale: int = 10**digits
        multiplier = math.ceil(ffn * scale / base) / scale
        if int(multiplier * base) == ffn:
            return multiplier
    return (ffn + 0.5) / base


def _llama3(job: Job) -> Registration:
    model = job.model
    multiplier = ffn_multiplier(model.hidden, model.ffn)
    base = int(2 * (4 * model.hidden) / 3)
    own = {"n_kv_heads": model.groups, "multiple_of": 1, "ffn_dim_multiplier": multiplier}
    width = f"int({multiplier!r} * {base}) = {model.ffn}, the feed-forward width"
    return Registration(
        family="llama3",
        table="llama3_args",
        base="Transformer",
        imports=_imports(
            job,
            "from torchtitan.models.llama3 import Transformer, TransformerModelArgs, llama3_args",
            "from torchtitan.models.llama3.model.args import RoPEScalingArgs",
        ),
        arguments_class="TransformerModelArgs",
        arguments=_common(job) | own | {"rope_scaling_args": rope_scaling(model, indent="    ")},
        comments={"ffn_dim_multiplier": width},
        spec=_spec(job),
    )


def rope_scaling(model: Model, indent: str = "") -> Python:
    """Llama 3.1's formula (models/llama3/model/model.py:62), which a factor of 1 leaves out; it stands in a
    statement that is indented by `indent`."""
    if model.rope_scaling == "none":
        return python.call("RoPEScalingArgs", scaling_factor=1.0)
    values = {
        "scaling_factor": model.rope_factor,
        "low_freq_factor": model.rope_low_freq,
        "high_freq_factor": model.rope_high_freq,
        "original_max_position_embeddings": model.rope_original_positions,
    }
    return python.long_call("RoPEScalingArgs", indent, **values)


def _qwen3(job: Job) -> Registration:
    model = job.model
    own: dict[str, Any] = {
        "n_kv_heads": model.groups,
        "head_dim": model.head_size,
        "hidden_dim": model.ffn,
        "qk_norm": model.qk_norm,
        "enable_weight_tying": model.tied,
    }
    imports = ["from torchtitan.models.qwen3 import Qwen3Model, Qwen3ModelArgs, qwen3_args"]
    if model.rope_scaling != "none":
        imports += [
            "from torchtitan.models.llama3.model.args import RoPEScalingArgs",
            "from torchtitan.models.llama3.model.model import precompute_freqs_cis",
        ]
    if model.moe:
        own |= {"moe_enabled": True, "moe_inter_dim": model.expert_width}
    return Registration(
        family="qwen3",
        table="qwen3_args",
        base="Qwen3Model",
        imports=_imports(job, *imports),
        arguments_class="Qwen3ModelArgs",
        arguments=_common(job) | own | _experts(job),
        comments={},
        spec=_spec(job),
    )


def _deepseek_v3(job: Job) -> Registration:
    model = job.model
    own: dict[str, Any] = {
        "inter_dim": model.ffn,
        "n_dense_layers": model.dense_layers if model.moe else model.layers,
        "q_lora_rank": model.q_lora_rank,
        "kv_lora_rank": model.kv_lora_rank,
        "qk_nope_head_dim": model.qk_nope_head_dim,
        "qk_rope_head_dim": model.qk_rope_head_dim,
        "v_head_dim": model.v_head_dim,
    }
    if model.moe:
        own["moe_inter_dim"] = model.expert_width
    yarn, comments = _latent_yarn(model)
    return Registration(
        family="deepseek_v3",
        table="deepseekv3_args",
        base="DeepSeekV3Model",
        imports=_imports(
            job,
            "from torchtitan.models.deepseek_v3 import "
            "DeepSeekV3Model, DeepSeekV3ModelArgs, deepseekv3_args",
        ),
        arguments_class="JobArgs" if yarn else "DeepSeekV3ModelArgs",
        arguments=_common(job) | own | (yarn or {"rope_factor": 1.0}) | _experts(job),
        comments=comments,
        spec=_spec(job),
    )


def _latent_yarn(model: Model) -> tuple[dict[str, Any], dict[str, str]]:
    """models/deepseek_v3/model/model.py:35, 236: a factor of 1 changes neither positions nor scores."""
    if model.rope_scaling == "none":
        return {}, {"rope_factor": "plain RoPE: YaRN by 1 changes nothing"}
    values = {
        "original_seq_len": model.rope_original_positions,
        "rope_factor": model.rope_factor,
        "beta_fast": model.rope_beta_fast,
        "beta_slow": model.rope_beta_slow,
        "mscale": model.rope_mscale_all_dim,
    }
    return values, {"mscale": "scores are multiplied by (0.1 mscale ln(rope_factor) + 1)^2"}


def _gpt_oss(job: Job) -> Registration:
    model = job.model
    yarn = model.rope_scaling == "yarn"
    own: dict[str, Any] = {
        "n_kv_heads": model.groups,
        "head_dim": model.head_size,
        "moe_inter_dim": model.expert_width,
        "swiglu_limit": model.glu_clamp,
        "sliding_window_size": model.window,
        "rope_factor": model.rope_factor if yarn else 1.0,
    }
    if yarn:
        own |= {
            "original_seq_len": model.rope_original_positions,
            "ntk_alpha": model.rope_beta_slow,
            "ntk_beta": model.rope_beta_fast,
        }
    return Registration(
        family="gpt_oss",
        table="gptoss_configs",
        base="GptOssModel",
        imports=_imports(
            job,
            "from torchtitan.models.gpt_oss import GptOssModel, GptOssModelArgs, gptoss_configs",
        ),
        arguments_class="GptOssModelArgs",
        arguments=_common(job) | own | _experts(job),
        comments={"sliding_window_size": "in the first of every two layers"},
        spec=_spec(job),
    )


def _experts(job: Job) -> dict[str, Python]:
    """`moe_args`; the scores of an expert weigh its output, as in Hugging Face's models, not its input."""
    model = job.model
    if not model.moe:
        return {}
    values: dict[str, Any] = {
        "num_experts": model.experts,
        "num_shared_experts": model.shared_experts,
        "top_k": model.topk,
        "score_func": model.router_score,
        "route_norm": model.router_norm,
        "route_scale": model.router_scale,
        "score_before_experts": False,
        "use_grouped_mm": has_grouped_matmul(job),
        # None: without a bias of the choice, which torchtitan moves by 0.001 unless told.
        "load_balance_coeff": model.router_bias_rate or None,
    }
    if model.bias:
        values["gate_bias"] = True
    if model.router_groups is not None:
        values |= {
            "num_expert_groups": model.router_groups,
            "num_limited_groups": model.router_limited_groups,
        }
    return {"moe_args": python.call("MoEArgs", **values)}


_BUILDERS = {
    "llama3": _llama3,
    "qwen3": _qwen3,
    "deepseek_v3": _deepseek_v3,
    "gpt_oss": _gpt_oss,
}
