"""Checkpoints and gradients of transformers -> tensors by the names that torchtitan's adapters read.

The adapters name each expert's matrices as Qwen3 and DeepSeek-V3 do, and gpt-oss's as its MXFP4 files do.
transformers fuses experts in memory, names Mixtral's by letters in files, and keeps gpt-oss's transposed.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

TYPES = {"F32": torch.float32, "BF16": torch.bfloat16}
MIXTRAL = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
Tensors = dict[str, Any]


def checkpoint(folder: Path) -> Tensors:
    """All tensors of a folder of safetensors files, named for the adapters."""
    found: Tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        found |= dict(_read(path))
    return named(found)


def _read(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """safetensors: eight bytes with the header's length, the header as JSON, the data."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    body = memoryview(bytearray(data[8 + length :]))
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(body[begin:end], dtype=TYPES[entry["dtype"]])
        yield name, flat.reshape(entry["shape"]).clone()


def named(tensors: Tensors) -> Tensors:
    """gpt-oss is known by the biases of its experts."""
    across = any(name.endswith("experts.down_proj_bias") for name in tensors)
    found: Tensors = {}
    for name, tensor in tensors.items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            found |= _across(name, tensor) if across else dict(_apart(name, tensor))
        else:
            found[_renamed(name)] = tensor
    return found


def _renamed(name: str) -> str:
    letters = re.fullmatch(r"(.*)\.block_sparse_moe\.experts\.(\d+)\.(w\d)\.weight", name)
    if letters:
        return f"{letters[1]}.mlp.experts.{letters[2]}.{MIXTRAL[letters[3]]}.weight"
    return name.replace("block_sparse_moe", "mlp")


def _across(name: str, tensor: torch.Tensor) -> Tensors:
    return {f"{name}_blocks": tensor.transpose(1, 2).contiguous()}


def _apart(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Matrices of all experts in one tensor, gate above up."""
    base, _, kind = name.rpartition(".")
    parts = {kind: tensor}
    if kind == "gate_up_proj":
        parts = dict(zip(("gate_proj", "up_proj"), tensor.chunk(2, dim=1), strict=True))
    for part, matrices in parts.items():
        for number, matrix in enumerate(matrices):
            yield f"{base}.{number}.{part}.weight", matrix
