"""Families of std made tiny -> the same models as Hugging Face's transformers configure them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parc.dsl import std_model
from parc.dsl.model import Model
from tests.acceptance.support.probe_runs import probe

#: Sequences and tokens of the batch that all implementations see.
BATCH, SEQUENCE = 2, 64
VOCABULARY = 128
_WIDTHS: dict[str, Any] = {
    "layers": 4,
    "hidden": 64,
    "heads": 4,
    "kv_heads": 2,
    "ffn": 96,
    "vocab": VOCABULARY,
}
_EXPERTS: dict[str, Any] = {"experts": 16, "topk": 4, "expert_ffn": 32}
_LATENT: dict[str, Any] = {
    "kv_heads": None,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "shared_experts": 1,
    "dense_layers": 1,
    "mtp_layers": 0,
}
#: Windows are shorter than a sequence, so that they show. Lengths before scaling are shorter or longer; the
#: one of gpt-oss puts YaRN's bounds between the pairs of a head.
_SCALED: dict[str, Any] = {"rope_original_positions": 16}
#: Entry of std -> what is made small of it.
FAMILIES: dict[str, dict[str, Any]] = {
    "llama3_8b": _WIDTHS,
    "llama3_1_8b": _WIDTHS | _SCALED,
    "llama3_2_1b": _WIDTHS | _SCALED,
    "qwen2_5_7b": _WIDTHS,
    "qwen3_8b": _WIDTHS | {"head_dim": 24},
    "qwen3_0_6b": _WIDTHS | {"head_dim": 24},
    "qwen3_30b_a3b": _WIDTHS | _EXPERTS | {"head_dim": 24},
    "mixtral_8x7b": _WIDTHS | {"experts": 8, "topk": 2},
    "deepseek_v2_lite": _WIDTHS
    | _EXPERTS
    | _LATENT
    | {"q_lora_rank": 0, "rope_original_positions": 256},
    "deepseek_v3": _WIDTHS
    | _EXPERTS
    | _LATENT
    | _SCALED
    | {"router_groups": 4, "router_limited_groups": 2},
    "gpt_oss_20b": _WIDTHS
    | {"experts": 8, "topk": 2, "head_dim": 16, "window": 16, "rope_original_positions": 1024},
}
#: The auxiliary losses of a router join the gradients and not the loss that is compared.
_UNBALANCED: dict[str, Any] = {"aux_loss": 0.0, "aux_loss_over": "micro_batch", "z_loss": 0.0}


def tiny(name: str, **changes: object) -> Model:
    """The entry of std with its blocks, router and positions, a few hundred thousand parameters large, and
    with what is given instead."""
    return Model.model_validate(
        std_model(name).model_dump() | FAMILIES[name] | _UNBALANCED | changes
    )


def configuration(model: Model) -> dict[str, Any]:
    """Class of transformers and arguments of its configuration."""
    common = {
        "vocab_size": model.vocab,
        "hidden_size": model.hidden,
        "intermediate_size": model.ffn,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.groups,
        "rms_norm_eps": model.norm_eps,
        "tie_word_embeddings": model.tied,
        "max_position_embeddings": SEQUENCE,
        "rope_parameters": _rope(model),
        "attn_implementation": "eager",
    }
    kind, more = _kind(model)
    return {"class": kind, "arguments": common | more}


def _kind(model: Model) -> tuple[str, dict[str, Any]]:
    head = {"head_dim": model.head_size}
    if model.attention_sinks:
        layers = [
            "full_attention" if layer % model.full_attention_every == 0 else "sliding_attention"
            for layer in range(1, model.layers + 1)
        ]
        return "GptOss", head | {
            "num_local_experts": model.experts,
            "num_experts_per_tok": model.topk,
            "sliding_window": model.window,
            "layer_types": layers,
            "attention_bias": model.bias,
            "swiglu_limit": model.glu_clamp,
        }
    if model.mla:
        return "DeepseekV3" if model.router_score == "sigmoid" else "DeepseekV2", _latent(model)
    if model.moe and model.qk_norm:
        return "Qwen3Moe", head | {
            "num_experts": model.experts,
            "num_experts_per_tok": model.topk,
            "moe_intermediate_size": model.expert_width,
            "norm_topk_prob": model.router_norm,
        }
    if model.moe:
        return "Mixtral", head | {
            "num_local_experts": model.experts,
            "num_experts_per_tok": model.topk,
            "sliding_window": model.window,
        }
    if model.qk_norm:
        return "Qwen3", head
    if model.qkv_bias:
        return "Qwen2", {}
    return "Llama", head | {"attention_bias": model.bias, "mlp_bias": model.bias}


def _latent(model: Model) -> dict[str, Any]:
    groups = {"n_group": model.router_groups or 1, "topk_group": model.router_limited_groups or 1}
    method = "group_limited_greedy" if model.router_groups else "greedy"
    return groups | {
        "topk_method": method,
        "num_key_value_heads": model.heads,
        "q_lora_rank": model.q_lora_rank or None,
        "kv_lora_rank": model.kv_lora_rank,
        "qk_nope_head_dim": model.qk_nope_head_dim,
        "qk_rope_head_dim": model.qk_rope_head_dim,
        "v_head_dim": model.v_head_dim,
        "n_routed_experts": model.experts,
        "n_shared_experts": model.shared_experts,
        "num_experts_per_tok": model.topk,
        "moe_intermediate_size": model.expert_width,
        "first_k_dense_replace": model.dense_layers,
        "norm_topk_prob": model.router_norm,
        "routed_scaling_factor": model.router_scale,
        "rope_interleave": True,
    }


def _rope(model: Model) -> dict[str, Any]:
    base: dict[str, Any] = {"rope_theta": model.rope_theta}
    if model.rope_scaling == "none":
        return base | {"rope_type": "default"}
    base |= {"rope_type": model.rope_scaling, "factor": model.rope_factor}
    if model.rope_scaling == "llama3":
        base |= {
            "low_freq_factor": model.rope_low_freq,
            "high_freq_factor": model.rope_high_freq,
        }
    if model.rope_scaling == "yarn":
        base |= {
            "beta_fast": model.rope_beta_fast,
            "beta_slow": model.rope_beta_slow,
            "truncate": model.rope_truncate,
        }
        if model.rope_mscale_all_dim:
            base |= {"mscale": model.rope_mscale, "mscale_all_dim": model.rope_mscale_all_dim}
    return base | {"original_max_position_embeddings": model.rope_original_positions}


def references(
    names: list[str],
    folder: Path,
    changes: Mapping[str, Mapping[str, object]] | None = None,
    repeats: bool = False,
) -> dict[str, dict[str, Any]]:
    """What transformers computes for each family, in fp32: `loss`, and `folder` with what others need.

    The folder holds `checkpoint/` as `save_pretrained` writes it, `tokens.pt` of (BATCH, SEQUENCE + 1)
    ids, `gradients.pt`, gradients of the loss by the model's names of weights, and `gradients/`, the same as
    a checkpoint. `changes` says by family what of the tiny model is another. With `repeats` all sequences
    are the same and end with the token that they begin with.
    """
    models = {name: tiny(name, **(changes or {}).get(name, {})) for name in names}
    return computed(models, folder, repeats)


def computed(
    models: Mapping[str, Model], folder: Path, repeats: bool = False
) -> dict[str, dict[str, Any]]:
    """The same for models by any name."""
    cases = [
        {
            "name": name,
            "folder": str(folder / name),
            "batch": BATCH,
            "sequence": SEQUENCE,
            "repeats": repeats,
            **configuration(model),
        }
        for name, model in models.items()
    ]
    return {
        answer["name"]: answer for answer in probe("deepspeed", "hugging_face_probe", cases, folder)
    }
