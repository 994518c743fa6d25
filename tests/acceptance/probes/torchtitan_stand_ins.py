"""What torchtitan asks of a GPU before it trains, answered on a CPU; tensors stay on the meta device.

Stood in for, and so not proven: the accelerator, triton's kernels, the values of parameters, the optimizer's
fused kernel, collectives (PyTorch's fake process group: meshes and placements are real, nothing travels).
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch.distributed.tensor import DTensor

#: Stand-ins that `parc smoke` trains with.
sys.path.append(str(Path(__file__).resolve().parents[3] / "smoke" / "on_cpu"))
from import_only_triton import import_only_triton

ON_CPU = runpy.run_path(
    str(Path(__file__).resolve().parents[3] / "backends" / "torchtitan" / "on_cpu.py")
)

#: Where releases load texts, 0.2.0 in the second.
TEXT_MODULES = ("torchtitan.hf_datasets.text_datasets", "torchtitan.datasets.hf_datasets")
#: Of the GPU that is stood in for.
CAPABILITY = [9, 0]


def before_import(*kernels: str) -> None:
    """`kernels` are modules that must be imported while triton's stand-in is there."""
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    ON_CPU["one_cpu_device"](torch)
    with import_only_triton():
        for name in kernels:
            importlib.import_module(name)


def answer_capability() -> None:
    """Modules hold the question under their own names."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torchtitan.") and "has_cuda_capability" in vars(module):
            vars(module)["has_cuda_capability"] = lambda *least: tuple(CAPABILITY) >= least


def stay_on_meta(models: type, *initial: str) -> None:
    """Parameters keep their shapes and placements and take no memory; methods `initial` set no values."""
    torch.nn.Module.to_empty = lambda self, *, device, recurse=True: self
    for kind in (models, *_below(models)):
        for name in set(initial) & set(vars(kind)):
            setattr(kind, name, lambda self, *arguments, **named: None)


def _below(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [each for child in children for each in (child, *_below(child))]


def load_texts(folder: Path) -> None:
    """Texts of a folder in place of what any data set is loaded from."""
    datasets: Any = importlib.import_module("datasets")
    load = datasets.load_dataset

    def loaded(*named: Any, split: str, streaming: bool = False, **settings: Any) -> Any:
        return load(str(folder), split="train", streaming=streaming)

    for name in ("datasets", *TEXT_MODULES):
        with suppress(ModuleNotFoundError):
            vars(importlib.import_module(name))["load_dataset"] = loaded


def play(world: int, rank: int) -> None:
    """In torchtitan's fake mode one process plays a rank of many; no group may ask for a real backend."""
    os.environ.update(NGPU=str(world), WORLD_SIZE=str(world), RANK=str(rank), LOCAL_RANK="0")
    new_group = torch.distributed.new_group
    torch.distributed.new_group = lambda *ranks, backend=None, **named: new_group(*ranks, **named)


def measured(trainer: Any) -> dict[str, Any]:
    """What the made Trainer keeps: layers of its stages, steps of accumulation, bytes of parameters."""
    found: dict[str, Any] = {
        "accumulation": trainer.gradient_accumulation_steps,
        "layers": [len(part.layers) for part in trainer.model_parts],
        **_bytes(trainer.model_parts),
    }
    if trainer.parallel_dims.pp_enabled:
        found["microbatches"] = trainer.pp_schedule._n_microbatches
        found["schedule"] = type(trainer.pp_schedule).__name__
    return found


def _bytes(parts: list[torch.nn.Module]) -> dict[str, Any]:
    """This rank's parameters: `share` by the placements, `local` as it was cut, each in its bytes."""
    share, local = 0.0, 0
    for parameter in (each for part in parts for each in part.parameters()):
        size, here = parameter.element_size(), parameter
        ways = 1
        if isinstance(parameter, DTensor):
            here = parameter.to_local()
            for placement, count in zip(
                parameter.placements, parameter.device_mesh.shape, strict=True
            ):
                ways *= 1 if placement.is_replicate() else count
        share += parameter.numel() / ways * size
        local += here.numel() * size
    return {"share_bytes": share, "local_bytes": local}
