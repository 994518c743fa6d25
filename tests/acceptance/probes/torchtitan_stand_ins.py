"""What torchtitan 0.2 asks of a GPU before it trains, answered on a CPU; tensors stay on the meta device.

Stood in for, and so not proven: the accelerator, triton's kernels, the values of parameters, the optimizer's
fused kernel, collectives (PyTorch's fake process group: meshes and placements are real, nothing travels).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import no_triton
import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

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
#: A line of text for each data-parallel rank.
MOST_RANKS = 4096


def before_import() -> None:
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    torch._utils._get_available_device_type = lambda: "cpu"
    device = types.SimpleNamespace(total_memory=80 << 30, name="stand-in")
    answers: dict[str, Any] = {
        "set_device": None,
        "current_device": 0,
        "get_device_name": "NVIDIA H100",
        "get_device_properties": device,
        "reset_peak_memory_stats": None,
        "empty_cache": None,
        "memory_stats": {},
    }
    for name, value in answers.items():
        setattr(torch.cpu, name, lambda *arguments, value=value: value)
    no_triton.install()
    for name in KERNELS:
        importlib.import_module(name)
    no_triton.remove()


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


def write_assets(folder: Path) -> None:
    """A tokenizer of whole words and a little text, so that the real loaders run without a network."""
    words = ["[UNK]", "<bos>", "<eos>", *(f"w{number}" for number in range(200))]
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "vocab.txt").write_text("\n".join(words) + "\n")
    special = {"bos_token": "<bos>", "eos_token": "<eos>"}
    (folder / "tokenizer" / "tokenizer_config.json").write_text(json.dumps(special))
    (folder / "text").mkdir()
    line = json.dumps({"text": " ".join(words[3:7])})
    (folder / "text" / "data.json").write_text(f"{line}\n" * MOST_RANKS)
