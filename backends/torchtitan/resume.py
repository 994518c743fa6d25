"""Changes that torchtitan's checkpoints survive: PyTorch's distributed ones, and a data loader's position.

Lines are those of 0.2.2, unless they say another release.
"""

from collections.abc import Mapping

from ...reading.facts import LaunchConfig
from ..resume import ELASTIC, Cure, Resume, Row, Saved

#: By which module of the emitted files the position follows from the step (templates/torchtitan/).
POSITION = "parc_position"
FOLLOWS, OF_RANKS = "from the step", "of each rank"


def form(config: LaunchConfig, release: str) -> Mapping[str, str]:
    return {"data position": FOLLOWS if elastic(config) else OF_RANKS}


def elastic(config: LaunchConfig) -> bool:
    """Whether a file imports what finds the position."""
    return any(f"import {POSITION}" in text for text in config.texts.values())


def _follows(old: Saved, new: Saved) -> bool:
    return new.form["data position"] == FOLLOWS


_STARTS_ANEW = Cure(
    "option",
    "--checkpoint.exclude_from_loading=dataloader",
    "the data begin anew, with what was trained on already",
    lost=("data",),
)
_ROWS = (
    Row(
        ("tp", "pp", "vpp", "cp", "ep", "etp", "zero"),
        # components/checkpoint.py:134, components/optimizer.py:104: moments are saved by the weights' names,
        # whole tensors of which every rank reads its part.
        "components/optimizer.py:104",
        note="weights and moments have their names in every layout",
    ),
    Row(
        ("dp",),
        "components/dataloader.py:136",
        note="every rank passes over what was trained on",
        where="the new job is elastic",
        when=_follows,
    ),
    Row(
        ("dp",),
        # components/dataloader.py:136; with more ranks PyTorch misses dataloader.dp_rank_N first
        # (torch/distributed/checkpoint/default_planner.py, create_default_local_load_plan).
        "components/dataloader.py:136",
        stops="dp_degree is inconsistent before and after checkpoint, dataloader resharding is not "
        "supported yet",
        cures=(
            Cure(
                "setting",
                ELASTIC,
                "the position in the data follows from the step, whatever dp was",
            ),
            _STARTS_ANEW,
        ),
        note="the data loader has a state for each rank",
    ),
    Row(("data position",), "components/dataloader.py:110", note="the checkpoint is the same"),
)
#: components/checkpoint.py:188 saves model, optimizer, schedule, data loader and step, and no generator.
RESUME = Resume(_ROWS, form, never=("rng",))
