"""What torchtitan 0.2 asks of a GPU before it trains, answered on a CPU; tensors stay on the meta device.

Stood in for, and so not proven: the accelerator, triton's kernels, the values of parameters, the optimizer's
fused kernel, collectives (PyTorch's fake process group: meshes and placements are real, nothing travels).
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

#: Stand-ins that `parc smoke` trains with.
sys.path.append(str(Path(__file__).resolve().parents[3] / "smoke" / "on_cpu"))
import torchtitan_on_cpu

#: A name of each kernel module that must be imported while triton's stand-in is there.
KERNELS = (
    "torchtitan.components.quantization",
    "torchtitan.models.moe",
    "torchao.prototype.moe_training.conversion_utils",
)

#: Those that parc emits for.
MODELS = ("llama3", "qwen3", "deepseek_v3")

#: Of the GPU that is stood in for.
CAPABILITY = [9, 0]


def before_import() -> None:
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    torchtitan_on_cpu.one_cpu_device(torch)
    with torchtitan_on_cpu.import_only_triton():
        for name in KERNELS:
            importlib.import_module(name)


def answer_capability() -> None:
    """Modules hold the question under their own names."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torchtitan.") and hasattr(module, "has_cuda_capability"):
            module.has_cuda_capability = lambda *least: tuple(CAPABILITY) >= least


def stay_on_meta() -> None:
    """Parameters keep their shapes and placements, and no memory is taken."""
    from torchtitan.protocols.model import ModelProtocol

    torch.nn.Module.to_empty = lambda self, *, device, recurse=True: self  # type: ignore[assignment]
    for name in MODELS:
        importlib.import_module(f"torchtitan.models.{name}")
    for kind in _below(ModelProtocol):
        if "init_weights" in vars(kind):
            kind.init_weights = lambda self, *arguments, **named: None


def _below(kind: type) -> list[Any]:
    return [each for child in kind.__subclasses__() for each in (child, *_below(child))]


def join(world: int, rank: int) -> None:
    """torchtitan's own fake mode plays rank 0 alone."""
    import torchtitan.distributed.utils as utils

    new_group = torch.distributed.new_group
    torch.distributed.new_group = lambda *ranks, backend=None, **named: new_group(*ranks, **named)
    os.environ.update(NGPU=str(world), WORLD_SIZE=str(world), RANK=str(rank), LOCAL_RANK="0")
    utils.init_fake_mode = lambda size, mode="fake_backend": torch.distributed.init_process_group(
        "fake", store=FakeStore(), rank=rank, world_size=size
    )
