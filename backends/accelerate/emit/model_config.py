"""A job's model -> the config.json by which transformers builds it."""

from typing import Any

from ....dsl.job import Job
from ...huggingface.families import family


def model_config(job: Job) -> dict[str, Any]:
    """Keys of `LlamaConfig`, `Qwen2Config` and `Qwen3Config` (transformers 5.23)."""
    model, name = job.model, family(job)
    biases = {"attention_bias": True, "mlp_bias": True} if model.bias else {}
    return {
        "architectures": [f"{name}ForCausalLM"],
        "model_type": name.lower(),
        "vocab_size": model.vocab,
        "hidden_size": model.hidden,
        "intermediate_size": model.ffn,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.groups,
        "head_dim": model.head_size,
        "max_position_embeddings": model.max_positions or job.train.seq_len,
        "rms_norm_eps": model.norm_eps,
        "rope_parameters": _rope(job),
        "tie_word_embeddings": model.tied,
        "initializer_range": model.init_std,
        **biases,
    }


def _rope(job: Job) -> dict[str, Any]:
    model = job.model
    kind = model.rope_scaling
    found: dict[str, Any] = {
        "rope_type": "default" if kind == "none" else kind,
        "rope_theta": model.rope_theta,
    }
    if kind != "none":
        found["factor"] = model.rope_factor
    if kind == "llama3":
        found |= {
            "original_max_position_embeddings": model.rope_original_positions,
            "low_freq_factor": model.rope_low_freq,
            "high_freq_factor": model.rope_high_freq,
        }
    return found
