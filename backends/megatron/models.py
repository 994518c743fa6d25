"""What of a model Megatron-LM 0.19.2 lacks, or has with values of its own alone."""

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


def _fixed(model: Model, values: Mapping[str, float | bool]) -> str | None:
    """The first setting that differs from the only value that Megatron-LM takes."""
    for key, value in values.items():
        given = getattr(model, key)
        if given != value:
            return f"`{key} = {_text(given)}`, only {_text(value)}"
    return None


def _text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _scaling(job: Job) -> str | None:
    model = job.model
    kind = model.rope_scaling
    if kind in ("linear", "llama3") and model.mla:
        return f"megatron has no `rope_scaling = {kind}` for latent attention, only yarn"
    if kind == "linear" and model.rope_factor % 1:
        return f"megatron takes a whole number for `rope_factor`, not {model.rope_factor:g}"
    fixed = {"llama3": _LLAMA3} | ({"yarn": _LATENT_YARN} if model.mla else {})
    if found := _fixed(model, fixed.get(kind, {})):
        where = f"rope_scaling = {kind}" + (" for latent attention" if model.mla else "")
        return f"megatron has no {found} with {where}"
    return None


def _query_norm(job: Job) -> str | None:
    """core/transformer/mla_qk_norm_config.py:146: the norm of the compressed keys brings one of the query's
    input, which is normalised already, where the query is not compressed."""
    if not job.model.mla or job.model.q_lora_rank:
        return None
    return "megatron normalises the input of an uncompressed query twice (`q_lora_rank = 0`)"


def _router(job: Job) -> str | None:
    """core/transformer/moe/moe_utils.py:855: sigmoid scores are divided by their sum if there are several."""
    return next(_router_faults(job.model), None) if job.model.moe else None


def _router_faults(model: Model) -> Iterator[str]:
    score, limited = model.router_score, model.router_limited_groups
    if model.topk == 1 and model.router_norm:
        yield "megatron cannot divide the score of one expert by itself (`topk = 1` with router_norm)"
    if score == "sigmoid" and model.topk > 1 and not model.router_norm:
        yield "megatron divides sigmoid scores by their sum: it has no `router_norm = false` with them"
    if score == "softmax" and model.router_bias_rate:
        yield "megatron has a bias of experts with sigmoid scores alone, not with softmax"
    if limited and limited > model.topk:
        yield f"megatron ranks groups by topk / groups = {model.topk} / {limited} scores, which is none"


def _weights(job: Job) -> str | None:
    """What the emitted convert.py knows the names of."""
    model = job.model
    known = model.gated and model.norm == "rmsnorm" and model.position == "rope"
    if job.train.weights is None or known:
        return None
    return "megatron begins with Hugging Face's weights of gated blocks, rmsnorm and rope alone (`weights`)"


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
        "Megatron-LM has the scaling of rope with other values alone",
        _scaling,
        ("model", "rope_scaling"),
        "target torchtitan, or the values that Megatron-LM has",
    ),
    Refusal(
        "PAR380",
        "query-norm",
        "Megatron-LM puts one more norm before a query that is not compressed",
        _query_norm,
        ("model", "q_lora_rank"),
        "target torchtitan, or a `q_lora_rank` above 0",
    ),
    Refusal(
        "PAR378",
        "router-combination",
        "Megatron-LM has no router of this combination",
        _router,
        ("model", "topk"),
        "`router_norm = false` for one expert or softmax, `router_norm = true` for several with sigmoid",
    ),
    Refusal(
        "PAR319",
        "unknown-weights",
        "weights whose names the conversion does not know",
        _weights,
        ("train", "weights"),
        "leave `weights` out, and convert them with Megatron-Bridge",
    ),
)
RANKING = Refusal(
    "PAR379",
    "group-ranking",
    "Megatron-LM ranks groups of experts in its own way",
    _ranking,
    ("model", "router_groups"),
    "router_groups = none, or a topk that makes them agree",
)
