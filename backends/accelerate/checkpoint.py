"""The Trainer's checkpoints under FSDP2 -> the run that saved them. Names are those of transformers 5.23."""

from __future__ import annotations

import re

from ..checkpoint_files import Checkpoints, SavedStep, Step

_STEP = re.compile(r"checkpoint-(\d{1,9})")
_RANK = re.compile(r"rng_state_(\d{1,7})\.pth")
_LAST, _SHARDS = "trainer_state.json", "pytorch_model_fsdp_0"


def newest(folder: Step) -> str | None:
    """The last step whose trainer_state.json is there, which the Trainer writes last."""
    steps = sorted(folder.ranks(_STEP), reverse=True)
    named = (f"checkpoint-{step}" for step in steps)
    return next((each for each in named if _LAST in Step(f"{folder.path}/{each}").names), None)


def written(step: Step) -> SavedStep | None:
    found = _STEP.fullmatch(step.name)
    if found is None or _LAST not in step.names or _SHARDS not in step.names:
        return None
    ranks = 1 + max(step.ranks(_RANK), default=0)
    return SavedStep("accelerate", int(found[1]), ranks, {"dp": ranks}, {}, {})


CHECKPOINTS = Checkpoints(newest, written)
