"""A torchtitan configuration -> the schedule, kernels and checkpoints of the `train` block."""

from typing import Any

from ....reading.facts import LaunchConfig, text_of
from ...described import known, rate_of
from ..resume import elastic
from .stack import components

Values = dict[str, Any]

#: How the rate falls at the end of a wsd schedule.
_DECAYS = ("linear", "cosine", "sqrt")
#: What `train.tracker` may say; the first one counts where several are on.
TRACKERS = ("wandb", "tensorboard")
#: The language's optimizers by torchtitan's name.
_OPTIMIZERS = {"Adam": "adam", "AdamW": "adam"}


def schedule(config: LaunchConfig, scope: str, found: Values) -> Values:
    """The rate stays until the last `decay_ratio` of the steps (components/lr_scheduler.py); `found`
    has the steps and the highest rate."""
    kind = text_of(config.setting(scope, "lr_scheduler.decay_type"))
    share = rate_of(config.setting(scope, "lr_scheduler.decay_ratio"))
    factor = rate_of(config.setting(scope, "lr_scheduler.min_lr_factor"))
    steps, high = found.get("steps"), found.get("learning_rate")
    values: Values = {"schedule": kind} if kind in ("cosine", "linear") else {}
    if share == 0:
        values = {"schedule": "constant"}
    elif share is not None and share < 1 and steps is not None and kind in _DECAYS:
        values = {"schedule": "wsd", "decay_style": kind}
        values["decay_steps"] = max(1, round(share * steps))
    if factor is not None and high is not None:
        values["min_learning_rate"] = float(f"{factor * high:.6g}")
    return values


def kernels(config: LaunchConfig, scope: str) -> Values:
    compiled = "model" in components(config)
    optimizer = text_of(config.setting(scope, "optimizer.name"))
    return known(compile=True if compiled else None, optimizer=_OPTIMIZERS.get(optimizer or ""))


def checkpoints(config: LaunchConfig, scope: str) -> Values:
    mode = text_of(config.setting(scope, "checkpoint.async_mode"))
    found = known(
        async_checkpoints=True if mode == "async" else None,
        collective_timeout=_timeout(config, scope),
    )
    return found | _tracker(config, scope) | ({"elastic": True} if elastic(config) else {})


def _tracker(config: LaunchConfig, scope: str) -> Values:
    on = {name: text_of(config.setting(scope, f"metrics.enable_{name}")) for name in TRACKERS}
    if text_of(config.setting("environment", "WANDB_PROJECT")) is not None:
        del on["wandb"]  # its project is a setting of the target
    chosen = (name for name in TRACKERS if on.get(name) in ("True", "true"))
    return known(tracker=next(chosen, None))


def _timeout(config: LaunchConfig, scope: str) -> float | None:
    """The limit of collectives where one holds throughout; parc chooses where another begins to."""
    first = rate_of(config.setting(scope, "comm.init_timeout_seconds"))
    later = rate_of(config.setting(scope, "comm.train_timeout_seconds"))
    return later if first in (None, later) else None
