"""A job's model -> which of torchtitan 0.2.2's models it is, with the arguments that build exactly it."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from ...dsl.job import Job, Model
from ..capability import HOPPER, older_nvidia
from .options import Options

Family = Literal["llama3", "qwen3", "deepseek_v3"]


@dataclass(frozen=True)
class Registration:
    """How a size is added to torchtitan: `table[flavor] = arguments_class(**arguments)`, after `imports`."""

    family: Family
    table: str
    imports: tuple[str, ...]
    arguments_class: str
    arguments: tuple[tuple[str, str], ...]
    comments: dict[str, str]


def family(model: Model) -> Family:
    """The model of torchtitan that has these blocks.

    llama3 is plain: heads of hidden / heads, own output matrix. qwen3 takes any head size, per-head norms,
    tied embeddings and experts in every layer (Mixtral's blocks are Qwen3's without the norms). deepseek_v3
    alone has latent attention.
    """
    if model.mla:
        return "deepseek_v3"
    if model.moe or model.tied or model.qk_norm or model.head_size * model.heads != model.hidden:
        return "qwen3"
    return "llama3"


def flavor(job: Job) -> str:
    return f"parc_{job.model.name or job.name}"


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


def registration(job: Job, options: Options) -> Registration:
    return {"llama3": _llama3, "qwen3": _qwen3, "deepseek_v3": _deepseek_v3}[family(job.model)](
        job, options
    )


def _common(job: Job) -> dict[str, Any]:
    model = job.model
    return {
        "dim": model.hidden,
        "n_layers": model.layers,
        "n_heads": model.heads,
        "vocab_size": model.vocab,
        "norm_eps": model.norm_eps,
        "rope_theta": model.rope_theta,
        "max_seq_len": job.train.seq_len,
    }


def _llama3(job: Job, options: Options) -> Registration:
    model = job.model
    multiplier = ffn_multiplier(model.hidden, model.ffn)
    base = int(2 * (4 * model.hidden) / 3)
    arguments = _common(job) | {
        "n_kv_heads": model.groups,
        "multiple_of": 1,
        "ffn_dim_multiplier": multiplier,
    }
    shown = [(name, repr(value)) for name, value in arguments.items()]
    shown.append(("rope_scaling_args", f"RoPEScalingArgs(scaling_factor={options.rope_scaling!r})"))
    return Registration(
        "llama3",
        "llama3_args",
        (
            "from torchtitan.models.llama3 import TransformerModelArgs, llama3_args",
            "from torchtitan.models.llama3.model.args import RoPEScalingArgs",
        ),
        "TransformerModelArgs",
        tuple(shown),
        {
            "ffn_dim_multiplier": f"int({multiplier!r} * {base}) = {model.ffn}, the feed-forward width"
        },
    )


def _qwen3(job: Job, options: Options) -> Registration:
    model = job.model
    arguments = _common(job) | {
        "n_kv_heads": model.groups,
        "head_dim": model.head_size,
        "hidden_dim": model.ffn,
        "qk_norm": model.qk_norm,
        "enable_weight_tying": model.tied,
    }
    imports = ["from torchtitan.models.qwen3 import Qwen3ModelArgs, qwen3_args"]
    if model.moe:
        imports.insert(0, "from torchtitan.models.moe import MoEArgs")
        arguments |= {"moe_enabled": True, "moe_inter_dim": model.expert_width}
    shown = [(name, repr(value)) for name, value in arguments.items()]
    if model.moe:
        shown.append(("moe_args", _experts(job, options)))
    return Registration("qwen3", "qwen3_args", tuple(imports), "Qwen3ModelArgs", tuple(shown), {})


def _deepseek_v3(job: Job, options: Options) -> Registration:
    model = job.model
    arguments = _common(job) | {
        "inter_dim": model.ffn,
        "n_dense_layers": model.dense_layers if model.moe else model.layers,
        "q_lora_rank": model.q_lora_rank,
        "kv_lora_rank": model.kv_lora_rank,
        "qk_nope_head_dim": model.qk_nope_head_dim,
        "qk_rope_head_dim": model.qk_rope_head_dim,
        "v_head_dim": model.v_head_dim,
        "original_seq_len": job.train.seq_len,
    }
    imports = ["from torchtitan.models.deepseek_v3 import DeepSeekV3ModelArgs, deepseekv3_args"]
    if model.moe:
        imports.append("from torchtitan.models.moe import MoEArgs")
        arguments["moe_inter_dim"] = model.expert_width
    shown = [(name, repr(value)) for name, value in arguments.items()]
    if model.moe:
        shown.append(("moe_args", _experts(job, options)))
    comments = {
        "norm_eps": "the final norm keeps torch's own, which deepseek_v3 does not let one set",
        "original_seq_len": "not below max_seq_len: plain RoPE, YaRN stays off",
    }
    return Registration(
        "deepseek_v3",
        "deepseekv3_args",
        tuple(imports),
        "DeepSeekV3ModelArgs",
        tuple(shown),
        comments,
    )


def _experts(job: Job, options: Options) -> str:
    model = job.model
    arguments: dict[str, Any] = {
        "num_experts": model.experts,
        "num_shared_experts": model.shared_experts,
        "top_k": model.topk,
        "score_func": options.router,
        "route_norm": options.router_norm,
        "route_scale": options.router_scale,
        "score_before_experts": False,
        "use_grouped_mm": has_grouped_matmul(job),
    }
    if options.router_groups is not None:
        arguments |= {
            "num_expert_groups": options.router_groups,
            "num_limited_groups": options.router_limited_groups,
        }
    return "MoEArgs(" + ", ".join(f"{name}={value!r}" for name, value in arguments.items()) + ")"


def has_grouped_matmul(job: Job) -> bool:
    """torch._grouped_mm: deepseek_v3 uses it from SM90 on (deepseek_v3/model/args.py:95), qwen3 always."""
    return not older_nvidia(job, HOPPER)
