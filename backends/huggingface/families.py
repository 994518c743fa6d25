"""Families of transformers that parc's programs train, and what of a job's model they lack."""

from typing import Literal

from ...dsl.job import Job

#: As their classes begin.
Family = Literal["Llama", "Qwen2", "Qwen3"]


def family(job: Job) -> Family:
    """Qwen3 norms queries and keys, Qwen2 has biases of theirs alone."""
    if job.model.qk_norm:
        return "Qwen3"
    return "Qwen2" if job.model.qkv_bias and not job.model.bias else "Llama"


def windowed(job: Job) -> bool:
    """Whether the window hides anything."""
    model = job.model
    narrow = model.window is not None and model.window < job.train.seq_len
    return narrow and model.full_attention_every != 1


def lacking(job: Job) -> str | None:
    """Names what the family lacks; models/llama/configuration_llama.py: `validate_architecture`,
    models/qwen3/modeling_qwen3.py: Qwen3Attention."""
    model, name = job.model, family(job)
    asked = {
        f"norm = {model.norm}": model.norm != "rmsnorm",
        f"position = {model.position}": model.position != "rope",
        f"activation = {model.activation_name}": model.activation_name != "silu",
        "gated = false": not model.gated,
        "bias": model.bias and name == "Qwen3",
        "qkv_bias": model.qkv_bias and name == "Qwen3",
        "causal = false": not model.causal,
        f"window = {model.window}": windowed(job),
        f"hidden = {model.hidden}` with `heads = {model.heads}": (
            name == "Llama" and model.hidden % model.heads > 0
        ),
    }
    found = next((setting for setting, is_asked in asked.items() if is_asked), None)
    return found and f"the {name} of transformers has no `{found}`"


def dropped(job: Job) -> str | None:
    """Names the dropout that no family has."""
    share = job.train.dropout
    return f"the {family(job)} of transformers has no `dropout = {share:g}`" if share else None
