"""Settings of a model that Megatron-LM 0.19.2 lacks, or has with fixed values only."""

import math
from collections.abc import Collection, Iterator, Mapping

from ...compiler.target import Refusal
from ...dsl.job import Job
from ...dsl.model import Model
from .. import model_features

_FEATURES = frozenset({
    "rope_linear", "rope_llama3", "rope_yarn", "alternating_windows", "sinks", "glu_clamp", "glu_offset",
    "router_sigmoid", "router_without_norm", "router_scale", "router_groups", "router_bias",
    "aux_loss_micro_batch", "aux_loss_sequence", "aux_loss_global_batch", "z_loss", "init_std",
})  # fmt: skip
#: RotaryEmbedding._apply_scaling has these in its signature, and pretrain_gpt.py hands on the switch alone
#: (core/models/common/embeddings/rotary_pos_embedding.py:92, training/argument_utils.py:464 of 0.19.2).
_LLAMA3 = {
    "rope_factor": 8,
    "rope_original_positions": 8192,
    "rope_low_freq": 1,
    "rope_high_freq": 4,
}
#: MLATransformerConfig has these, and no option sets them (core/transformer/transformer_config.py:2938).
_LATENT_YARN = {
    "rope_original_positions": 4096,
    "rope_beta_fast": 32,
    "rope_beta_slow": 1,
    "rope_truncate": True,
}


def has(job: Job) -> Collection[str]:
    """Features by `model_features`' names; `_scaling` and `_router` say where values are refused."""
    return _FEATURES


def _fixed(model: Model) -> dict[str, float | bool]:
    """The settings that differ from the only values that Megatron-LM takes, with those."""
    values = {"llama3": _LLAMA3} | ({"yarn": _LATENT_YARN} if model.mla else {})
    fixed: Mapping[str, float | bool] = values.get(model.rope_scaling, {})
    return {key: value for key, value in fixed.items() if getattr(model, key) != value}


def _scaling_line(job: Job) -> str:
    """The settings that Megatron-LM has instead."""
    model, fixed = job.model, _fixed(job.model)
    if model.rope_scaling == "linear" and not model.mla:
        return f"rope_factor = {math.ceil(model.rope_factor)}"
    return (
        "; ".join(f"{key} = {_text(value)}" for key, value in fixed.items())
        or "rope_scaling = none"
    )


def _text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _scaling(job: Job) -> str | None:
    model = job.model
    kind = model.rope_scaling
    if kind in ("linear", "llama3") and model.mla:
        return f"megatron has no `rope_scaling = {kind}` for latent attention, only yarn"
    if kind == "linear" and model.rope_factor % 1:
        return f"megatron takes a whole number for `rope_factor`, not {model.rope_factor:g}"
    for key, value in _fixed(model).items():
        where = f"rope_scaling = {kind}" + (" for latent attention" if model.mla else "")
        given = f"{key} = {_text(getattr(model, key))}"
        return f"megatron supports only {key} = {_text(value)} with {where}, not `{given}`"
    return None


def _query_norm(job: Job) -> str | None:
    """core/transformer/mla_qk_norm_config.py:146: the norm of the compressed keys brings one of the query's
    input, which is normalised already, where the query is not compressed."""
    if not job.model.mla or job.model.q_lora_rank:
        return None
    return "megatron normalises the input of an uncompressed query twice (`q_lora_rank = 0`)"


def _router(job: Job) -> str | None:
    """core/transformer/moe/moe_utils.py:855: sigmoid scores are divided by their sum if there are several."""
    return next((why for why, _ in _router_faults(job.model)), None)


def _router_line(job: Job) -> str:
    return next((line for _, line in _router_faults(job.model)), "")


def _router_faults(model: Model) -> Iterator[tuple[str, str]]:
    """Features that Megatron-LM's router lacks, each with the settings of the nearest one that it has."""
    score, limited = model.router_score, model.router_limited_groups
    if not model.moe:
        return
    if model.topk == 1 and model.router_norm:
        yield (
            "megatron cannot divide the score of one expert by itself (`topk = 1` with router_norm)",
            "router_norm = false",
        )
    if score == "sigmoid" and model.topk > 1 and not model.router_norm:
        yield (
            "megatron divides sigmoid scores by their sum: `router_norm = false` is not supported with them",
            "router_norm = true",
        )
    if score == "softmax" and model.router_bias_rate:
        yield (
            "megatron supports a bias of experts only with sigmoid scores, not with softmax",
            "router_bias_rate = 0; aux_loss = 0.01",
        )
    if limited and limited > model.topk:
        yield (
            f"megatron ranks groups by topk / groups = {model.topk} / {limited} scores, which is none",
            f"router_limited_groups = {model.topk}",
        )


def _weights(job: Job) -> str | None:
    """The refusal of `weights` for a model whose weights the emitted convert.py cannot name."""
    model = job.model
    known = model.gated and model.norm == "rmsnorm" and model.position == "rope"
    if job.train.weights is None or known:
        return None
    return (
        "megatron loads Hugging Face's weights only for gated blocks, rmsnorm and rope (`weights`)"
    )


def _ranking(job: Job) -> str | None:
    """moe_utils.py:656: a group counts as much as its topk / group_topk best experts together."""
    model = job.model
    if not (model.moe and model.router_groups and model.router_limited_groups):
        return None
    ranked = model.topk // model.router_limited_groups
    usual = 1 if model.router_score == "softmax" else 2
    if ranked == usual:
        return None
    published = "DeepSeek-V2 by its best" if usual == 1 else "DeepSeek-V3 by its best two"
    return (
        f"megatron ranks a group of experts by the sum of its best {ranked} scores "
        f"(topk {model.topk} / {model.router_limited_groups} groups), {published}"
    )


REFUSALS = (
    *model_features.lacking("megatron", has),
    Refusal(
        "PAR377",
        "rope-values",
        "Megatron-LM scales rope only with other values",
        _scaling,
        ("model", "rope_scaling"),
        "other rotations beyond the original positions, which the published weights do not expect; "
        "`target torchtitan {}` and, without latent attention, `target deepspeed {}` take any",
        line=_scaling_line,
    ),
    Refusal(
        "PAR380",
        "query-norm",
        "Megatron-LM puts one more norm before a query that is not compressed",
        _query_norm,
        ("model", "q_lora_rank"),
        "no line changes that but another model (`q_lora_rank` above 0): `target torchtitan {}` trains it",
    ),
    Refusal(
        "PAR378",
        "router-combination",
        "Megatron-LM has no router of this combination",
        _router,
        ("model", "topk"),
        "another weighing of the chosen experts, which the published weights do not expect",
        line=_router_line,
    ),
    Refusal(
        "PAR319",
        "unknown-weights",
        "weights whose names the conversion does not know",
        _weights,
        ("train", "weights"),
        "a start from random weights; Megatron-Bridge converts those of other models",
        line="weights = none",
    ),
)
RANKING = Refusal(
    "PAR379",
    "group-ranking",
    "Megatron-LM ranks groups of experts in its own way",
    _ranking,
    ("model", "router_groups"),
    "a token chooses among all experts, which may be on more nodes",
    line="router_groups = none; router_limited_groups = none",
)
