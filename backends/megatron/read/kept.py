"""Megatron-LM's options -> its checkpoints.

NVIDIA/Megatron-LM@d98e8a64 megatron/training/training.py: `setup_model_and_optimizer` loads where --load or
--pretrained-checkpoint is given (2859), `checkpoint_and_decide_exit` saves on a signal, at intervals and
after a duration (4039).
"""

from __future__ import annotations

import re

from ....reading.facts import LaunchConfig, number_of, text_of, whole
from ...kept import Files, Kept, undecided
from ..option_groups import TRAINS

#: The signal of --exit-signal-handler unless --exit-signal names another.
_SIGNAL = "TERM"
#: The folder of a rank of tensor parallelism, of its pipeline stage and of its experts: `get_checkpoint_name`
#: (megatron/training/checkpointing.py:267).
_RANK = re.compile(r"mp_rank_(\d{2,4})(?:_(\d{3,4}))?(?:_(\d{3,4}))?")


def kept(config: LaunchConfig) -> Kept | None:
    """None where the command does not train, or a parser of its own reads it."""
    ours = config.framework == "megatron" and config.kind.variant != "swift"
    if not ours or not config.given(*TRAINS):
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


def layout_at(config: LaunchConfig, folder: str, files: Files) -> dict[str, int]:
    """tp and pp of the format that has a folder for each rank; a name of two numbers without experts."""
    newest = (files.read(f"{folder}/latest_checkpointed_iteration.txt") or "").strip()
    number = whole(newest)
    name = newest if newest == "release" else f"iter_{number or 0:07d}"
    found = [match for each in files.names(f"{folder}/{name}") if (match := _RANK.fullmatch(each))]
    if not found:
        return {}
    layout = {"tp": 1 + max(int(match[1]) for match in found)}
    if config.value("experts") is None:
        layout["pp"] = 1 + max(int(match[2] or 0) for match in found)
    return layout
