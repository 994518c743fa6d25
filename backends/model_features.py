"""Features of models beyond the plain decoder: one refusal for each, for targets that lack it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from ..compiler.target import Refusal
from ..dsl.job import Job
from ..dsl.model import Model


@dataclass(frozen=True)
class Feature:
    """`asked(model)` tells whether a model has it; `words(model)` names it with its value. `line` are the
    settings of a model without it, `change` is what they make of it."""

    name: str
    key: str
    asked: Callable[[Model], bool]
    words: Callable[[Model], str]
    line: str | Callable[[Job], str]
    change: str


def _rope(kind: str) -> Feature:
    def words(model: Model) -> str:
        return f"`rope_scaling = {kind}`"

    return Feature(
        f"rope_{kind}",
        "rope_scaling",
        lambda model: model.rope_scaling == kind,
        words,
        "rope_scaling = none",
        "positions are not stretched, which the published weights expect",
    )


def _balanced_by_bias(job: Job) -> str:
    """DeepSeek-V3's speed of the bias (arXiv 2412.19437, section 4.2), which is torchtitan's too."""
    rate = "" if job.model.router_bias_rate else "; router_bias_rate = 0.001"
    return f"aux_loss = 0{rate}"


def _aux(scope: str) -> Feature:
    def words(model: Model) -> str:
        return f"balancing loss (`aux_loss = {model.aux_loss:g}` over each {scope})"

    return Feature(
        f"aux_loss_{scope}",
        "aux_loss",
        lambda model: model.aux_loss > 0 and model.aux_loss_over == scope,
        words,
        _balanced_by_bias,
        "only a bias balances the experts, as most of DeepSeek-V3's training does",
    )


FEATURES = (
    _rope("linear"),
    _rope("llama3"),
    _rope("yarn"),
    Feature(
        "alternating_windows",
        "full_attention_every",
        lambda model: model.window is not None and model.full_attention_every > 1,
        lambda model: f"mix of windows (`full_attention_every = {model.full_attention_every}`)",
        "full_attention_every = 0",
        "every layer sees only the window",
    ),
    Feature(
        "sinks",
        "attention_sinks",
        lambda model: model.attention_sinks,
        lambda model: "attention sinks (`attention_sinks`)",
        "attention_sinks = false",
        "scores lose their sinks, which the published weights expect",
    ),
    Feature(
        "attention_softcap",
        "attention_softcap",
        lambda model: model.attention_softcap is not None,
        lambda model: f"cap on attention scores (`attention_softcap = {model.attention_softcap:g}`)",
        "attention_softcap = none",
        "scores lose their cap, which the published weights expect",
    ),
    Feature(
        "logit_softcap",
        "logit_softcap",
        lambda model: model.logit_softcap is not None,
        lambda model: f"cap on the output's logits (`logit_softcap = {model.logit_softcap:g}`)",
        "logit_softcap = none",
        "logits lose their cap, which the published weights expect",
    ),
    Feature(
        "parallel_block",
        "parallel_block",
        lambda model: model.parallel_block,
        lambda model: "parallel blocks (`parallel_block`)",
        "parallel_block = false",
        "attention goes before the feed-forward block, another model of the same size",
    ),
    Feature(
        "glu_clamp",
        "glu_clamp",
        lambda model: model.glu_clamp is not None,
        lambda model: f"clamped gate (`glu_clamp = {model.glu_clamp:g}`)",
        "glu_clamp = none",
        "the gate loses its clamp, which the published weights expect",
    ),
    Feature(
        "glu_offset",
        "glu_offset",
        lambda model: model.glu_offset > 0,
        lambda model: f"offset beside the gate (`glu_offset = {model.glu_offset:g}`)",
        "glu_offset = 0",
        "the gate loses its offset, which the published weights expect",
    ),
    Feature(
        "router_sigmoid",
        "router_score",
        lambda model: model.router_score == "sigmoid",
        lambda model: "router with sigmoid scores (`router_score = sigmoid`)",
        "router_score = softmax",
        "experts are weighed by their share of all scores",
    ),
    Feature(
        "router_without_norm",
        "router_norm",
        lambda model: model.moe and not model.router_norm,
        lambda model: "router that leaves its scores as they are (`router_norm = false`)",
        "router_norm = true",
        "the scores of the chosen experts are divided by their sum",
    ),
    Feature(
        "router_scale",
        "router_scale",
        lambda model: model.router_scale != 1,
        lambda model: f"factor on expert scores (`router_scale = {model.router_scale:g}`)",
        "router_scale = 1",
        "experts are added as they are",
    ),
    Feature(
        "router_groups",
        "router_groups",
        lambda model: model.router_groups is not None,
        lambda model: f"groups of experts (`router_groups = {model.router_groups}`)",
        "router_groups = none; router_limited_groups = none",
        "a token chooses among all experts, which may be on more nodes",
    ),
    Feature(
        "router_bias",
        "router_bias_rate",
        lambda model: model.router_bias_rate > 0,
        lambda model: f"bias that balances experts (`router_bias_rate = {model.router_bias_rate:g}`)",
        "router_bias_rate = 0; aux_loss = 0.01",
        "a loss balances the experts instead of a bias",
    ),
    _aux("micro_batch"),
    _aux("sequence"),
    _aux("global_batch"),
    Feature(
        "z_loss",
        "z_loss",
        lambda model: model.z_loss > 0,
        lambda model: f"loss on the router's logits (`z_loss = {model.z_loss:g}`)",
        "z_loss = 0",
        "nothing keeps the router's logits small",
    ),
    Feature(
        "init_std",
        "init_std",
        lambda model: model.init_std != Model.model_fields["init_std"].default,
        lambda model: f"choice of the first weights' deviation (`init_std = {model.init_std:g}`)",
        "init_std = 0.02",
        "other first weights; nothing changes where `weights` are given",
    ),
    Feature(
        "init_unscaled",
        "init_scaled",
        lambda model: not model.init_scaled,
        lambda model: "equal first weights of all layers (`init_scaled = false`)",
        "init_scaled = true",
        "other first weights; nothing changes where `weights` are given",
    ),
)
NAMES = frozenset(feature.name for feature in FEATURES)


def lacking(framework: str, has: Callable[[Job], Collection[str]]) -> tuple[Refusal, ...]:
    """A refusal of each feature that is not among those that the framework `has` for a job."""

    def asked(feature: Feature, job: Job) -> str | None:
        if not feature.asked(job.model) or feature.name in has(job):
            return None
        return f"{framework} has no {feature.words(job.model)}"

    return tuple(
        Refusal(
            "PAR370",
            "no-model-feature",
            "the target lacks what the model is",
            partial(asked, feature),
            ("model", feature.key),
            feature.change,
            line=feature.line,
        )
        for feature in FEATURES
    )
