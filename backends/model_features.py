"""What a model may be beyond the plain decoder: one refusal for each, for targets that lack it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from ..compiler.target import Refusal
from ..dsl.job import Job
from ..dsl.model import Model


@dataclass(frozen=True)
class Feature:
    """`asked(model)` tells whether a model has it; `words(model)` names it with its value."""

    name: str
    key: str
    asked: Callable[[Model], bool]
    words: Callable[[Model], str]
    help: str


def _rope(kind: str) -> Feature:
    def words(model: Model) -> str:
        return f"`rope_scaling = {kind}`"

    return Feature(
        f"rope_{kind}",
        "rope_scaling",
        lambda model: model.rope_scaling == kind,
        words,
        "rope_scaling = none",
    )


def _aux(scope: str) -> Feature:
    def words(model: Model) -> str:
        return f"balancing loss (`aux_loss = {model.aux_loss:g}` over each {scope})"

    return Feature(
        f"aux_loss_{scope}",
        "aux_loss",
        lambda model: model.aux_loss > 0 and model.aux_loss_over == scope,
        words,
        "aux_loss = 0, with a router_bias_rate that balances the experts instead",
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
    ),
    Feature(
        "sinks",
        "attention_sinks",
        lambda model: model.attention_sinks,
        lambda model: "attention sinks (`attention_sinks`)",
        "attention_sinks = false",
    ),
    Feature(
        "attention_softcap",
        "attention_softcap",
        lambda model: model.attention_softcap is not None,
        lambda model: f"cap on attention scores (`attention_softcap = {model.attention_softcap:g}`)",
        "attention_softcap = none",
    ),
    Feature(
        "logit_softcap",
        "logit_softcap",
        lambda model: model.logit_softcap is not None,
        lambda model: f"cap on the output's logits (`logit_softcap = {model.logit_softcap:g}`)",
        "logit_softcap = none",
    ),
    Feature(
        "parallel_block",
        "parallel_block",
        lambda model: model.parallel_block,
        lambda model: "parallel blocks (`parallel_block`)",
        "parallel_block = false",
    ),
    Feature(
        "glu_clamp",
        "glu_clamp",
        lambda model: model.glu_clamp is not None,
        lambda model: f"clamped gate (`glu_clamp = {model.glu_clamp:g}`)",
        "glu_clamp = none",
    ),
    Feature(
        "glu_offset",
        "glu_offset",
        lambda model: model.glu_offset > 0,
        lambda model: f"offset beside the gate (`glu_offset = {model.glu_offset:g}`)",
        "glu_offset = 0",
    ),
    Feature(
        "router_sigmoid",
        "router_score",
        lambda model: model.router_score == "sigmoid",
        lambda model: "router with sigmoid scores (`router_score = sigmoid`)",
        "router_score = softmax",
    ),
    Feature(
        "router_without_norm",
        "router_norm",
        lambda model: model.moe and not model.router_norm,
        lambda model: "router that leaves its scores as they are (`router_norm = false`)",
        "router_norm = true",
    ),
    Feature(
        "router_scale",
        "router_scale",
        lambda model: model.router_scale != 1,
        lambda model: f"factor on expert scores (`router_scale = {model.router_scale:g}`)",
        "router_scale = 1",
    ),
    Feature(
        "router_groups",
        "router_groups",
        lambda model: model.router_groups is not None,
        lambda model: f"groups of experts (`router_groups = {model.router_groups}`)",
        "router_groups = none",
    ),
    Feature(
        "router_bias",
        "router_bias_rate",
        lambda model: model.router_bias_rate > 0,
        lambda model: f"bias that balances experts (`router_bias_rate = {model.router_bias_rate:g}`)",
        "router_bias_rate = 0, with an aux_loss that balances the experts instead",
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
    ),
    Feature(
        "init_std",
        "init_std",
        lambda model: model.init_std != Model.model_fields["init_std"].default,
        lambda model: f"choice of the first weights' deviation (`init_std = {model.init_std:g}`)",
        "init_std = 0.02",
    ),
    Feature(
        "init_unscaled",
        "init_scaled",
        lambda model: not model.init_scaled,
        lambda model: "equal first weights of all layers (`init_scaled = false`)",
        "init_scaled = true",
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
            feature.help,
        )
        for feature in FEATURES
    )
