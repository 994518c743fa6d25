"""torchtitan's checkpoints, which are PyTorch's -> the run that saved them."""

from __future__ import annotations

import re

from ..checkpoint_files import Checkpoints, SavedStep, Step

_RANK = re.compile(r"__(\d{1,7})_\d{1,4}\.distcp")
_STEP = re.compile(r"step-(\d{1,9})")
#: Names in `.metadata`: the data loader has a state for each rank of dp (components/dataloader.py:110).
_DATA = re.compile(rb"dataloader\.dp_rank_(\d{1,7})")
_LAYER = re.compile(rb"layers\.(\d{1,6})\.")


def newest(folder: Step) -> str | None:
    """The last step whose `.metadata` is there, which PyTorch writes when all ranks have written."""
    steps = sorted(folder.ranks(_STEP), reverse=True)
    whole = (f"step-{step}" for step in steps)
    return next(
        (each for each in whole if ".metadata" in Step(f"{folder.path}/{each}").names), None
    )


def written(step: Step) -> SavedStep | None:
    name = step.name.removeprefix("step-")
    if ".metadata" not in step.names or name == step.name or not name.isdecimal():
        return None
    found = step.head(".metadata")
    layers, data = found.numbers(_LAYER), found.numbers(_DATA)
    return SavedStep(
        "torchtitan",
        int(name),
        1 + max(step.ranks(_RANK), default=0),
        {"dp": 1 + max(data)} if data else {},
        {},
        {"layers": 1 + max(layers)} if layers else {},
    )


CHECKPOINTS = Checkpoints(newest, written)
