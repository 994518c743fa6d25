"""Megatron-LM's checkpoints -> the run that saved them.

Lines are those of core_v0.19.0 megatron/training/checkpointing.py, unless they say another file.
"""

from __future__ import annotations

import json
import re

from ..checkpoint_files import Checkpoints, Pickled, SavedStep, Step, child
from .resume import BUFFERS, BY_NAME, FORMAT, STATE, TENSORS, WHOLE

#: Arguments by the compiler's names. The arguments of the run are saved with each checkpoint (:1270).
_DEGREES = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "vpp": "virtual_pipeline_model_parallel_size",
    "cp": "context_parallel_size",
}
_EXPERTS = {"ep": "expert_model_parallel_size", "etp": "expert_tensor_parallel_size"}
_SIZES = {
    "layers": "num_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "experts": "num_experts",
}
#: Files of which one holds the arguments: megatron/core/dist_checkpointing/strategies/common.py:15 names the
#: first; later releases put them into the distributed checkpoint, the format `torch` with each rank's part.
_ARGUMENTS = ("common.pt", "__0_0.distcp", "mp_rank_00/model_optim_rng.pt")
_RANK = re.compile(r"__(\d{1,7})_\d{1,4}\.distcp")
_FOLDER = re.compile(r"mp_rank_(\d{2,4})(?:_\d{3,4}){0,2}")


def newest(folder: Step) -> str | None:
    """`get_checkpoint_tracker_filename` (:296): a number, or `release`."""
    text = folder.text("latest_checkpointed_iteration.txt")
    return f"iter_{int(text):07d}" if text.isdecimal() and len(text) < 10 else child(text)


def written(step: Step) -> SavedStep | None:
    shards, folders = step.ranks(_RANK), step.ranks(_FOLDER)
    name = step.name.removeprefix("iter_")
    if not (shards or folders) or not (name.isdecimal() or step.name == "release"):
        return None
    found = next((each for each in map(step.head, _ARGUMENTS) if _number(each, "tp")), Pickled(b""))
    sizes = {size: number for size in _SIZES if (number := found.number(_SIZES[size]))}
    kept = _format(step, bool(folders))
    return SavedStep(
        "megatron",
        int(name) if name.isdecimal() else 0,
        found.number("world_size") or 1 + max(shards, default=0),
        _layout(found, "experts" in sizes, kept),
        {FORMAT: kept, **_state(found, kept)},
        sizes,
    )


def _number(found: Pickled, degree: str) -> int | None:
    return found.number((_DEGREES | _EXPERTS)[degree])


def _layout(found: Pickled, experts: bool, kept: str) -> dict[str, int]:
    """Degrees by the saved arguments; none without them, as names of shards hold no degrees. Models without
    experts have arguments of experts, too."""
    if not _number(found, "tp"):
        return {}
    layout = {name: max(_number(found, name) or 1, 1) for name in (*_DEGREES, *_EXPERTS)}
    layout |= {} if experts else dict.fromkeys(_EXPERTS, 1)
    if world := found.number("world_size"):
        layout["dp"] = world // (layout["tp"] * layout["pp"] * layout["cp"])
    divided = found.number("use_distributed_optimizer")
    return layout | ({"zero": divided} if divided is not None and kept != "fsdp_dtensor" else {})


def _format(step: Step, folders: bool) -> str:
    """metadata.json is of torch_dist alone (:1616); Megatron-FSDP writes fsdp_dtensor by PyTorch itself."""
    if folders:
        return "torch"
    try:
        backend = json.loads(step.text("metadata.json"))["sharded_backend"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return "fsdp_dtensor"
    return str(backend)


def _state(found: Pickled, kept: str) -> dict[str, str]:
    """How the optimizer is saved (:490); 0.14, which has no such argument, saves by weight."""
    divided = found.number("use_distributed_optimizer")
    if kept == "fsdp_dtensor":
        return {STATE: TENSORS}
    if divided is None:
        return {}
    if not divided:
        return {STATE: WHOLE}
    by_name = found.number("dist_ckpt_optim_fully_reshardable") in (1, None)
    return {STATE: BY_NAME if by_name and kept == "torch_dist" else BUFFERS}


CHECKPOINTS = Checkpoints(newest, written)
