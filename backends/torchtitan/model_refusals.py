"""Model settings of a job that torchtitan's models do not support, in any layout."""

import math
from collections.abc import Callable
from dataclasses import replace

from ...compiler.target import Refusal
from ...dsl.job import Job
from ...dsl.model import Model
from .. import model_features, refusals
from .models import family, features
from .releases import release, since


def _norm(job: Job) -> str | None:
    return (
        None
        if job.model.norm == "rmsnorm"
        else f"torchtitan's models have no {job.model.norm}, only rmsnorm"
    )


def _position(job: Job) -> str | None:
    if job.model.position == "rope":
        return None
    return f"torchtitan's models support only rope, not `position = {job.model.position}`"


def _bias(job: Job) -> str | None:
    name = "bias" if job.model.bias else "qkv_bias"
    if family(job) == "gpt_oss" or not (job.model.bias or job.model.qkv_bias):
        return None
    return f"torchtitan's linear layers have no biases (`{name}`)"


def _window(job: Job) -> str | None:
    window, kind = job.model.window, family(job)
    if window is None or kind == "gpt_oss":
        return None
    return f"torchtitan's {kind} has no sliding window ({window})"


def _latent(job: Job) -> str | None:
    model = job.model
    if not model.mla:
        return None
    wanted = {"tied": model.tied, "qk_norm": model.qk_norm}
    asked = [name for name, value in wanted.items() if value]
    return f"torchtitan's deepseek_v3 has no `{asked[0]}`" if asked else None


def _leading_dense(job: Job) -> str | None:
    model = job.model
    if model.moe and model.dense_layers and not model.mla:
        return (
            f"torchtitan's {family(job)} has experts in every layer, "
            f"not after {model.dense_layers} `dense_layers`"
        )
    return None


def _family(job: Job) -> str | None:
    kind, written = family(job), release(job)
    if kind in written.families:
        return None
    return f"parc does not write torchtitan's {kind} for {written.name}"


def _tied(job: Job) -> str | None:
    written = release(job)
    if not job.model.tied or written.tied:
        return None
    first = since(lambda each: each.tied, "ties them")
    return f"torchtitan {written.name} trains tied embeddings as two matrices (`tied`); {first}"


#: What torchtitan's gpt_oss is in every size (0.2.2 models/gpt_oss/model/model.py:146, 249, moe.py:74).
GPT_OSS: dict[str, Callable[[Model], bool]] = {
    "experts": lambda model: model.moe,
    "bias": lambda model: model.bias and not model.qkv_bias,
    "window": lambda model: model.window is not None,
    "full_attention_every": lambda model: model.full_attention_every == 2,
    "glu_clamp": lambda model: model.glu_clamp is not None,
    "glu_offset": lambda model: model.glu_offset == 1,
    "shared_experts": lambda model: model.shared_experts == 0,
    "tied": lambda model: not model.tied,
    "qk_norm": lambda model: not model.qk_norm,
}


def _gpt_oss(job: Job) -> str | None:
    model = job.model
    if family(job) != "gpt_oss":
        return None
    wrong = [name for name, fits in GPT_OSS.items() if not fits(model)]
    shown = ", ".join(f"`{name} = {getattr(model, name)}`" for name in wrong).lower()
    return (
        f"torchtitan has attention sinks only in gpt_oss, which does not support {shown}"
        if wrong
        else None
    )


def _groups(job: Job) -> str | None:
    """models/moe/moe.py:278: a group's score is the sum of its two best, which is DeepSeek-V3's rule."""
    model, written = job.model, release(job)
    if model.router_groups is None:
        return None
    if not written.router_groups:
        first = since(lambda each: each.router_groups)
        return f"torchtitan {written.name} has no groups of experts (`router_groups`); {first}"
    if model.experts // model.router_groups < 2:
        return (
            "torchtitan scores a group of experts by its best two: "
            f"{model.experts} experts in {model.router_groups} groups have one each"
        )
    if model.router_score == "softmax":
        return (
            f"`router_groups = {model.router_groups}` with softmax scores goes by a group's best expert "
            "(DeepSeek-V2), torchtitan's by its best two (DeepSeek-V3)"
        )
    return None


def _yarn(job: Job) -> str | None:
    model = job.model
    if model.rope_scaling != "yarn":
        return None
    kind = family(job)
    if kind == "gpt_oss":
        return _gpt_oss_yarn(model)
    return _latent_yarn(model) if kind == "deepseek_v3" else None


def _latent_yarn(model: Model) -> str | None:
    """models/deepseek_v3/model/model.py:35, 236: scores are multiplied, rotated parts are not."""
    if not model.rope_truncate:
        return "torchtitan's deepseek_v3 rounds YaRN's bounds: `rope_truncate = false` is not supported"
    if model.rope_mscale != model.rope_mscale_all_dim:
        return (
            "torchtitan's deepseek_v3 scales only whole scores: `rope_mscale` "
            f"{model.rope_mscale:g} is not `rope_mscale_all_dim` {model.rope_mscale_all_dim:g}"
        )
    return None


def _gpt_oss_yarn(model: Model) -> str | None:
    """models/gpt_oss/model/model.py:59: rotated parts times 0.1 ln(factor) + 1; bounds not rounded."""
    if model.rope_truncate:
        return "torchtitan's gpt_oss does not round YaRN's bounds (`rope_truncate = true`)"
    if model.rope_mscale != 1 or model.rope_mscale_all_dim != 0:
        return (
            "torchtitan's gpt_oss supports only `rope_mscale` 1 and `rope_mscale_all_dim` 0, "
            f"not {model.rope_mscale:g} and {model.rope_mscale_all_dim:g}"
        )
    low, high = (_bound(model, turns) for turns in (model.rope_beta_fast, model.rope_beta_slow))
    last = model.head_size / 2 - 1
    if 0 < low < high < last:
        return None
    return (
        f"torchtitan's gpt_oss takes YaRN's bounds between 0 and {last:g} pairs of a head of "
        f"{model.head_size}, not {low:.2f} to {high:.2f}"
    )


def _bound(model: Model, turns: float) -> float:
    """The pair of a head that turns so often over the original length (gpt_oss/model/model.py:69)."""
    if model.rope_theta <= 1:
        return math.inf
    waves = (model.rope_original_positions or 1) / (turns * 2 * math.pi)
    return model.head_size / 2 * math.log(waves) / math.log(model.rope_theta)


_SILU = refusals.feed_forwards("torchtitan", gated=("silu",))
_QUICK_GELU = refusals.feed_forwards("torchtitan's gpt_oss", gated=("quick_gelu",))


def _feed_forward(job: Job) -> str | None:
    return (_QUICK_GELU if family(job) == "gpt_oss" else _SILU).asked(job)


def _feed_forward_line(job: Job) -> str:
    return (_QUICK_GELU if family(job) == "gpt_oss" else _SILU).settings(job)


def _bias_line(job: Job) -> str:
    return f"{'bias' if job.model.bias else 'qkv_bias'} = false"


def _latent_line(job: Job) -> str:
    return f"{'tied' if job.model.tied else 'qk_norm'} = false"


def _yarn_line(job: Job) -> str:
    """The values of std's deepseek_v3 and gpt_oss_20b, which torchtitan's models have."""
    if family(job) == "gpt_oss":
        return (
            "rope_truncate = false; rope_mscale = 1; rope_mscale_all_dim = 0; rope_theta = 150000; "
            "rope_original_positions = 4096; rope_beta_fast = 32; rope_beta_slow = 1"
        )
    return f"rope_truncate = true; rope_mscale_all_dim = {job.model.rope_mscale:g}"


_OTHERS = "`target megatron {}` and `target deepspeed {}`"
MODEL_REFUSALS = (
    replace(
        _SILU,
        asked=_feed_forward,
        help="another block, which fits no published weights; `target megatron {}` and `target deepspeed {}` "
        "have plain gelu",
        line=_feed_forward_line,
    ),
    refusals.causal_alone("torchtitan"),
    refusals.multi_token_prediction("torchtitan"),
    *model_features.lacking("torchtitan", features),
    Refusal(
        "PAR368",
        "no-family",
        "the model is one that parc does not write for this release",
        _family,
        ("target", "torchtitan"),
        "another release of torchtitan, the same training",
        line='version = "0.2.2"',
        block="target torchtitan",
    ),
    Refusal(
        "PAR456",
        "tied-apart",
        "tied embeddings that the release would train as two matrices",
        _tied,
        ("model", "tied"),
        'an output matrix of its own; `version = "0.2.2"` of the target ties it',
        line="tied = false",
    ),
    Refusal(
        "PAR351",
        "no-layernorm",
        "the norm is not rmsnorm",
        _norm,
        ("model", "norm"),
        f"another norm, which fits no published weights; {_OTHERS} have layernorm",
        line="norm = rmsnorm",
    ),
    Refusal(
        "PAR352",
        "no-positions",
        "positions are not rotary",
        _position,
        ("model", "position"),
        f"positions are not learned, which the published weights expect; {_OTHERS} have others",
        line="position = rope",
    ),
    Refusal(
        "PAR353",
        "no-bias",
        "linear layers have biases",
        _bias,
        ("model", "bias"),
        f"linear layers lose their biases, which the published weights have; {_OTHERS} have them",
        line=_bias_line,
    ),
    Refusal(
        "PAR355",
        "no-window",
        "attention has a sliding window",
        _window,
        ("model", "window"),
        f"all layers see all tokens; {_OTHERS} have windows",
        line="window = none",
    ),
    Refusal(
        "PAR357",
        "no-latent-option",
        "latent attention with tied embeddings or per-head norms",
        _latent,
        ("model",),
        "another model, which fits no published weights; `target megatron {}` has it",
        line=_latent_line,
    ),
    Refusal(
        "PAR358",
        "no-leading-dense",
        "dense layers before experts without latent attention",
        _leading_dense,
        ("model", "dense_layers"),
        "the first layers have experts as well, and more weights; `target megatron {}` has dense ones",
        line="dense_layers = 0",
    ),
    Refusal(
        "PAR363",
        "router-groups",
        "torchtitan scores the router's groups in another way",
        _groups,
        ("model", "router_groups"),
        "a token chooses among all experts, which may be on more nodes",
        line="router_groups = none; router_limited_groups = none",
    ),
    Refusal(
        "PAR385",
        "yarn-of-another-kind",
        "YaRN as torchtitan's model does not do it",
        _yarn,
        ("model", "rope_scaling"),
        "the rotations of std's deepseek_v3 or gpt_oss_20b, which torchtitan's models have",
        line=_yarn_line,
    ),
    Refusal(
        "PAR386",
        "no-such-gpt-oss",
        "attention sinks in a model that is not gpt-oss otherwise",
        _gpt_oss,
        ("model", "attention_sinks"),
        "scores lose their sinks; `target megatron {}` has them in any model, std.gpt_oss_20b what they need",
        line="attention_sinks = false",
    ),
)
