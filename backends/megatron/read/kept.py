"""Megatron-LM's options -> its checkpoints.

NVIDIA/Megatron-LM@d98e8a64 megatron/training/training.py: `setup_model_and_optimizer` loads where --load or
--pretrained-checkpoint is given (2859), `checkpoint_and_decide_exit` saves on a signal, at intervals and
after a duration (4039).
"""

from __future__ import annotations

from ....reading.facts import LaunchConfig, number_of, text_of
from ...kept import Kept, undecided

#: The signal of --exit-signal-handler unless --exit-signal names another.
_SIGNAL = "TERM"
_TRAINS = ("--train-iters", "--train-samples", "--lr")


def kept(config: LaunchConfig) -> Kept | None:
    """None where the command does not train, or a parser of its own reads it."""
    ours = config.framework == "megatron" and "swift" not in config.kind
    if not ours or not config.given(*_TRAINS):
        return None
    save, load = config.option("--save"), config.option("--load")
    hidden = any(config.may_be_given(name) for name in ("--save", "--load"))
    intervals = (config.option("--save-interval"), config.option("--non-persistent-save-interval"))
    known = [(number, each) for each in intervals if (number := number_of(each))]
    interval, interval_at = min(known, key=lambda pair: pair[0], default=(None, None))
    return Kept(
        saves=None if hidden and save is None else save is not None,
        resumes=None if hidden else _resumes(config),
        interval=None if any(map(undecided, intervals)) else interval,
        steps=_steps(config),
        folder=save,
        interval_at=interval_at,
        handles=_handles(config),
        leaves_early=config.given("--exit-duration-in-mins"),
        at=load or save,
    )


def _resumes(config: LaunchConfig) -> bool | None:
    """A folder that is only read is read again by each start, and so is one from which a start takes weights
    alone."""
    save, load = config.option("--save"), config.option("--load")
    if save is None or load is None:
        return load is not None if save is None else False
    here, there = text_of(save), text_of(load)
    if here is None or there is None:
        return None
    return here.rstrip("/") == there.rstrip("/") and not config.given("--finetune")


def _steps(config: LaunchConfig) -> int | None:
    steps = number_of(config.option("--train-iters"))
    samples = number_of(config.option("--train-samples"))
    batch = config.number("global_batch")
    return samples // batch if steps is None and samples and batch else steps


def _handles(config: LaunchConfig) -> frozenset[str] | None:
    if config.may_be_given("--exit-signal-handler"):
        return None
    if not config.given("--exit-signal-handler"):
        return frozenset()
    named = config.option("--exit-signal")
    if undecided(named):
        return None
    return frozenset({(text_of(named) or _SIGNAL).upper().removeprefix("SIG")})
