"""DeepSpeed's checkpoints -> the run that saved them. Lines are those of DeepSpeed 0.19.8."""

from __future__ import annotations

import re

from ..checkpoint_files import Checkpoints, SavedStep, Step, child

#: Files of runtime/engine.py:4320: a rank's share of the optimizer, and the weights, which ZeRO 3 divides.
#: A pipeline has a file for each layer (runtime/pipe/module.py:588).
_OPTIMIZER = re.compile(r"(?:bf16_)?zero_pp_rank_(\d{1,7})_mp_rank_\d{2,4}_optim_states\.pt")
_WEIGHTS = re.compile(r"(?:zero_pp_rank_\d{1,7}_)?mp_rank_(\d{2,4})_model_states\.pt")
_THIRD = re.compile(r"zero_pp_rank_(\d{1,7})_mp_rank_\d{2,4}_model_states\.pt")


def newest(folder: Step) -> str | None:
    return child(folder.text("latest"))


def written(step: Step) -> SavedStep | None:
    models = step.ranks(_WEIGHTS)
    if not models:
        return None
    third, piped = bool(step.ranks(_THIRD)), any(name.startswith("layer_") for name in step.names)
    prefix = "zero_pp_rank_0_" if third else ""
    head = step.head(f"{prefix}mp_rank_00_model_states.pt")
    ranks = 1 + max(step.ranks(_OPTIMIZER), default=(head.number("dp_world_size") or 1) - 1)
    parts = 1 + max(models)
    layout = {"tp": 1 if piped else parts, "pp": parts if piped else 1, "cp": 1, "dp": ranks}
    stage = 3 if third else head.number("stage", after="zero_optimization")
    return SavedStep(
        "deepspeed",
        head.number("global_steps") or 0,
        ranks * parts,
        layout | ({"zero": stage} if stage is not None else {}),
        {},
        {},
        head.text("ds_version") or "",
    )


CHECKPOINTS = Checkpoints(newest, written)
