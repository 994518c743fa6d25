"""A job and a target -> the run: the name of its folder, and the settings that decide its training."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from ..dsl.job import Job, Train
from ..dsl.settings import Data, Decides

#: Settings of `train` that change neither what is computed nor in which order: how fast it is, what is kept.
_FREE = {
    "attention",
    "compile",
    "checkpoint_interval",
    "keep_checkpoints",
    "async_checkpoints",
    "collective_timeout",
    "elastic",
    "tracker",
}
#: Settings of `train` that `_train` says in another form.
_RESOLVED = {"tokens", "steps", "warmup", "decay_steps", "decay_style"}
#: Hexadecimal digits of a run's digest, and of that of its steps.
DIGITS, STEP_DIGITS = 8, 12
#: Settings of `train` that decide how long a step takes.
_TIMED = {"seq_len", "global_batch", "precision", "optimizer", "attention", "compile", "dropout"}
#: Settings of `model` that are numbers in its formulas: sizes and kernels are the same with others.
_UNTIMED = {
    "name",
    "norm_eps",
    "rope_theta",
    "rope_factor",
    "rope_original_positions",
    "rope_low_freq",
    "rope_high_freq",
    "rope_beta_fast",
    "rope_beta_slow",
    "rope_mscale",
    "rope_mscale_all_dim",
    "rope_truncate",
    "router_scale",
    "router_bias_rate",
    "aux_loss",
    "z_loss",
    "mtp_weight",
    "init_std",
    "init_scaled",
}


@dataclass(frozen=True)
class Run:
    """A run of one target, or of one stage of it. Runs of one digest train alike, whatever their layout."""

    name: str
    digest: str
    decided: Mapping[str, Any]
    """What the digest is of: settings by name, such as `train.learning_rate`, with values of JSON."""
    step_digest: str = field(compare=False)
    """Runs of one such digest take as long for a step, in the same layout on the same machine."""

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.name}-{self.digest}"


def run_of(job: Job, target: str) -> Run:
    """The run that a target makes of a job: its layout, cluster, launch and kernels do not matter."""
    decided = {
        **_said("model", job.model, {"name"}),
        **_train(job.train),
        **_options(job, target),
        **({"train.begins": run_of(job.previous, target).folder} if job.previous else {}),
    }
    text = json.dumps(decided, sort_keys=True)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{job.name}-{target}")
    digest = sha256(text.encode()).hexdigest()[:DIGITS]
    return Run(name, digest, decided, step_digest(job))


def step_digest(job: Job) -> str:
    """A digest of what decides how long a step takes beside layout and machine: model, batch and length,
    precision, optimizer, attention and adapters. Settings that a later release adds do not change it.
    """
    train = job.train.model_dump(mode="json", include=_TIMED, exclude_defaults=True)
    if job.train.adapters is not None:
        train |= {"tune": job.train.tune, "adapters": job.train.adapters.model_dump(mode="json")}
    model = job.model.model_dump(mode="json", exclude=_UNTIMED, exclude_defaults=True)
    text = json.dumps([model, train], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:STEP_DIGITS]


def _said(block: str, settings: BaseModel, without: set[str]) -> dict[str, Any]:
    """The settings of a block that differ from their defaults, which a later release may add to."""
    found = settings.model_dump(mode="json", exclude=without, exclude_defaults=True)
    return {f"{block}.{name}": value for name, value in sorted(found.items())}


def _train(train: Train) -> dict[str, Any]:
    found = _said("train", train, _FREE | _RESOLVED)
    resolved: dict[str, Any] = {
        "learning_rate": train.learning_rate,
        "min_learning_rate": train.min_learning_rate,
        "seed": train.seed,
        "steps": train.total_steps,
        "warmup": train.warmup_steps,
    }
    if train.schedule == "wsd":
        resolved |= {"decay_steps": train.wsd_steps, "decay_style": train.decay_style}
    return dict(sorted((found | {f"train.{name}": resolved[name] for name in resolved}).items()))


def _options(job: Job, target: str) -> dict[str, Any]:
    """Options that decide, but for those that the job leaves to the search, which go with the layout."""
    options = job.options(target)
    if options is None:
        return {}
    fields = type(options).model_fields
    deciding = (
        name for name in fields if any(isinstance(each, Decides) for each in fields[name].metadata)
    )
    values = {name: _plain(getattr(options, name)) for name in sorted(deciding)}
    return {
        f"{target}.{name}": value
        for name, value in values.items()
        if value != _plain(fields[name].default) and ("target", target, name) not in job.open
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Data):
        return [list(part) for part in value.parts]
    return value
