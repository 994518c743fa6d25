"""A model -> the targets that train it, and what of it they lack where none trains it whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from parc.backends import BACKENDS
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


@dataclass(frozen=True)
class ChosenTargets:
    """`names` train the model without the settings of `left_out`, each with the reason; `refused` says
    of other targets why they do not."""

    names: tuple[str, ...]
    left_out: dict[str, str]
    refused: dict[str, str]


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
    others = {name: each[1] for name, each in refused.items() if each and name not in names}
    return ChosenTargets(names, left_out, others)


def _extent(left_out: dict[str, str]) -> float:
    return len(left_out) or float("inf")


def _trains(job: Job, name: str) -> bool:
    return next(_refusals(job, name), None) is None


def _refusals(job: Job, name: str) -> Iterator[tuple[str, str]]:
    """The setting of the model that a target refuses (empty for another cause) and why."""
    target: Target = BACKENDS[name].target
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
