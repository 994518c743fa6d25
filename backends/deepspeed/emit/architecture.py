"""A job's model -> the choices that train.py's text makes, and the sizes in model.json that it reads."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ....compiler.plan import Plan
from ....dsl.job import Job, Train
from ....dsl.model import Model
from ...huggingface.families import windowed
from ...languages import python
from ...languages.python import Python
from ..options import CHOSEN, Options, alternating, hugging_face, masked, options_of
from ..stack import FORBIDS, fused_loss, fused_norms

Json = dict[str, Any]

#: PyTorch for each activation function, around its argument.
ACTIVATIONS: Mapping[str, Callable[[Python], Python]] = {
    "silu": lambda x: python.call("F.silu", x),
    "gelu": lambda x: python.call("F.gelu", x, approximate="tanh"),
    "quick_gelu": lambda x: python.call("quick_gelu", x),
    "relu": lambda x: python.call("F.relu", x),
    "squared_relu": lambda x: python.method(python.call("F.relu", x), "square"),
}


def architecture(job: Job) -> Json:
    """Values that the templates of the model choose by."""
    model, train = job.model, job.train
    return {
        "rope": model.position == "rope",
        "rope_scaling": model.rope_scaling,
        "rope_truncate": model.rope_truncate,
        "learned": model.position == "learned",
        "tied": model.tied,
        "bias": model.bias,
        "qkv_bias": model.bias or model.qkv_bias,
        "qk_norm": model.qk_norm,
        "norm": {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"}[model.norm],
        "gated": model.gated,
        "activation": ACTIVATIONS[model.activation_name],
        "quick_gelu": model.activation_name == "quick_gelu",
        "glu_clamp": model.glu_clamp,
        "glu_offset": model.glu_offset,
        "parallel_block": model.parallel_block,
        "causal": model.causal,
        "windowed": windowed(job),
        "alternating": alternating(job),
        "sinks": model.attention_sinks,
        "attention_softcap": model.attention_softcap,
        "logit_softcap": model.logit_softcap,
        "masked": masked(job),
        "grouped": model.groups < model.heads,
        "kv_heads": model.groups,
        "unfused": train.attention == "unfused",
        "dropout": train.dropout,
        **_kernels(job),
    }


def _kernels(job: Job) -> Json:
    """Kernels that `target deepspeed` chooses."""
    chosen = options_of(job).attention_kernel
    return {
        "attention_kernel": chosen,
        "forbidden_kernels": FORBIDS[chosen] if chosen else (),
        "replaced_norms": hugging_face(job) and fused_norms(job),
        "compiled_loss": fused_loss(job),
    }


#: Choices of `Model` that the text of train.py has made.
WRITTEN = (
    "gated", "activation", "glu_clamp", "glu_offset", "parallel_block", "norm", "position", "rope_scaling",
    "rope_truncate", "bias", "qkv_bias", "qk_norm", "tied", "causal", "attention_sinks", "attention_softcap",
    "logit_softcap", "init_scaled",
)  # fmt: skip
#: Choices of `Train` that it has made.
TRAINED = (
    "schedule", "warmup", "min_learning_rate", "decay_steps", "decay_style", "ramp_from", "ramp_tokens",
    "dropout", "attention", "compile", "keep_checkpoints", "collective_timeout",
    "tracker", "tune", "adapter_rank", "adapter_alpha", "adapter_targets", "adapter_dropout",
)  # fmt: skip
#: Sizes of each way to scale rotary positions.
ROPE_SIZES = {
    "none": (),
    "linear": ("rope_factor",),
    "llama3": ("rope_factor", "rope_original_positions", "rope_low_freq", "rope_high_freq"),
    "yarn": (
        "rope_factor", "rope_original_positions", "rope_beta_fast", "rope_beta_slow", "rope_mscale",
        "rope_mscale_all_dim",
    ),
}  # fmt: skip


def model_json(plan: Plan) -> Json:
    """Sizes that train.py reads; the sections say what its text holds, for readers alone."""
    model, train = plan.job.model, plan.job.train
    sizes: Json = {
        "name": model.name or plan.job.name,
        "layers": model.layers,
        "hidden": model.hidden,
        "heads": model.heads,
        "kv_heads": model.groups,
        "head_dim": model.head_size,
        "ffn": model.ffn,
        "vocab": model.vocab,
        "norm_eps": model.norm_eps,
        "init_std": model.init_std,
        "residual_std": _residual_std(model),
        **_position_sizes(plan.job),
        "seq_len": train.seq_len,
        "seed": train.seed,
    }
    if plan.layout.pp > 1:
        sizes["stage_layers"] = [sum(stage.layers) for stage in plan.estimate.stages]
    return {
        **sizes,
        **_written("architecture", model, WRITTEN),
        **_written("training", train, TRAINED),
        **_written("kernels", options_of(plan.job), CHOSEN),
    }


def _residual_std(model: Model) -> float:
    """Deviation of weights that write to the residual stream (Megatron-core, scaled_init_method_normal)."""
    return model.init_std / (math.sqrt(2 * model.layers) if model.init_scaled else 1)


def _position_sizes(job: Job) -> Json:
    model, sizes = job.model, Json()
    if model.position == "rope":
        names = ("rope_theta", *ROPE_SIZES[model.rope_scaling])
        sizes |= {name: getattr(model, name) for name in names}
    if model.position == "learned":
        sizes["max_positions"] = model.max_positions or job.train.seq_len
    if windowed(job):
        sizes["window"] = model.window
    if alternating(job):
        sizes["full_attention_every"] = model.full_attention_every
    return sizes


def _written(section: str, block: Model | Train | Options, names: tuple[str, ...]) -> Json:
    """Settings of a block that differ from the language's defaults, below the block's name."""
    fields = type(block).model_fields
    chosen = {
        name: getattr(block, name) for name in names if getattr(block, name) != fields[name].default
    }
    return {section: chosen} if chosen else {}
