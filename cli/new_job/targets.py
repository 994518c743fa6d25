"""A model -> the targets that train it, and what of it they lack where none trains it whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from parc.backends import TARGETS
from parc.compiler.target import Target
from parc.dsl.job import Job

#: Settings of a model without which it has the same layers and widths: where no target has them, a first job
#: leaves them out, as comments. Those of one line go together.
LEFT_OUT = (
    ("attention_softcap",),
    ("logit_softcap",),
    ("parallel_block",),
    ("window", "full_attention_every"),
    ("attention_sinks",),
    ("glu_clamp", "glu_offset"),
    ("activation",),
    ("qk_norm",),
    ("init_std",),
    ("rope_scaling", "rope_factor", "rope_original_positions", "rope_low_freq", "rope_high_freq")
    + ("rope_beta_fast", "rope_beta_slow", "rope_mscale", "rope_mscale_all_dim", "rope_truncate"),
    ("router_groups", "router_limited_groups"),
    ("router_score", "router_bias_rate"),
    ("router_norm",),
    ("router_scale",),
    ("aux_loss", "aux_loss_over"),
    ("z_loss",),
)

#: Settings of a model that change how it is trained, and leave its published weights what they are.
TRAINING = {"aux_loss", "router_bias_rate", "z_loss", "init_std", "init_scaled"}


@dataclass(frozen=True)
class ChosenTargets:
    """`names` train the model without the settings of `left_out`, each with the reason; `refused` says
    of other targets why they do not. `changed` has the reasons of settings that a model of the library needs
    before any target trains it; `blocks` the settings of a target's own without which it refuses the job.
    """

    names: tuple[str, ...]
    left_out: dict[str, str]
    refused: dict[str, str]
    changed: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)


def chosen_targets(
    job_without: Callable[[Collection[str]], Job], wanted: Iterable[str]
) -> ChosenTargets:
    """The targets of `wanted` that train the whole model; else the one that trains most of it.

    `job_without` gives the job whose model lacks some settings.
    """
    whole = job_without(())
    refused = {name: next(_refusals(whole, name), None) for name in wanted}
    names = tuple(name for name, refusal in refused.items() if refusal is None)
    left_out: dict[str, str] = {}
    if not names:
        left_out = min((_lacking(job_without, name) for name in refused), key=_extent)
        names = tuple(name for name in refused if _trains(job_without(left_out), name))
    others = {
        name: _why(whole, name) for name, each in refused.items() if each and name not in names
    }
    return ChosenTargets(names, left_out, others)


def needed_blocks(job: Job, wanted: Iterable[str]) -> dict[str, str]:
    """By target, the settings of its own block with which it takes what it refuses of a job now."""
    found: dict[str, str] = {}
    for name in wanted:
        refused = (each for each in TARGETS[name].target.refusals if each.asked(job) is not None)
        lines = [each.settings(job) for each in refused if each.block == f"target {name}"]
        if any(lines):
            found[name] = "; ".join(line for line in lines if line)
    return found


def changes(
    job_with: Callable[[Mapping[str, str]], Job], wanted: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """The fewest settings of the model with which one of `wanted` trains it, each with the reason, at best
    those of the training alone; empty where no target trains it with any.

    `job_with` gives the job whose model has some settings besides.
    """
    found = [each for name in wanted if (each := _changes(job_with, name))]
    return min(found, key=lambda each: (len(set(each) - TRAINING), len(each)), default={})


def _changes(job_with: Callable[[Mapping[str, str]], Job], name: str) -> dict[str, tuple[str, str]]:
    """The settings with which a target trains the model; none where no line of a refusal helps."""
    target: Target = TARGETS[name].target
    changed: dict[str, tuple[str, str]] = {}
    while True:
        job = job_with({key: value for key, (value, _) in changed.items()})
        refused = [each for each in target.refusals if each.asked(job) is not None]
        if not refused:
            return {} if any(target.settings(job)) else changed
        line = refused[0].settings(job)
        settings = dict(each.split(" = ") for each in line.split("; ") if each)
        if refused[0].path[0] != "model" or not settings.keys() - changed.keys():
            return {}
        reason = refused[0].asked(job) or ""
        changed |= {key: (value, reason) for key, value in settings.items()}


def _why(job: Job, name: str) -> str:
    """Why a target does not train a job, and the line with which it does, where there is one."""
    refused = [each for each in TARGETS[name].target.refusals if each.asked(job) is not None]
    message = next((why for _, why in _refusals(job, name)), "")
    lines = [each.settings(job) for each in refused if each.path[0] == "model"]
    if not lines or not all(lines) or len(lines) < len(refused):
        return message
    return f"{message}; `model {{ {'; '.join(lines)} }}` changes that"


def _extent(left_out: dict[str, str]) -> float:
    return len(left_out) or float("inf")


def _trains(job: Job, name: str) -> bool:
    return next(_refusals(job, name), None) is None


def _refusals(job: Job, name: str) -> Iterator[tuple[str, str]]:
    """The setting of the model that a target refuses (empty for another cause) and why."""
    target: Target = TARGETS[name].target
    for refusal in target.refusals:
        if (message := refusal.asked(job)) is not None:
            path = refusal.path if refusal.path[:1] == ("model",) else ()
            yield path[1] if len(path) > 1 else "", message
    yield from (("", found.message) for found in target.settings(job))


def _lacking(job_without: Callable[[Collection[str]], Job], name: str) -> dict[str, str]:
    """Settings to leave out, with the reason, until a target trains the model; none where that does
    not help."""
    left_out: dict[str, str] = {}
    while found := next(_refusals(job_without(left_out), name), None):
        key, message = found
        together = next((keys for keys in LEFT_OUT if key in keys and key not in left_out), ())
        if not together:
            return {}
        left_out |= dict.fromkeys(together, message)
    return left_out
