"""Emitted scripts -> what they would have started: they run, with a recorder in place of torchrun."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: Writes its arguments and its environment, each value ended by a zero byte.
RECORDER = """#!/usr/bin/env bash
printf '%s\\0' "$@" >"$RECORD/arguments"
env -0 >"$RECORD/environment"
"""
#: Hugging Face's command: says where what it fetched lies.
HUB = """#!/usr/bin/env bash
echo "$HOME/hub/${@: -1}"
"""
#: Variables that mean something to a launcher or a framework.
PREFIXES = (
    "CUDA_",
    "NCCL_",
    "NVTE_",
    "PYTORCH_",
    "TORCH_",
    "MASTER_",
    "NODE_RANK",
    "NNODES",
    "WORLD_SIZE",
)


@dataclass(frozen=True)
class Started:
    """torchrun's own options, the program with its arguments, and the environment that the script set."""

    launcher: dict[str, str]
    program: tuple[str, ...]
    environment: dict[str, str]

    @property
    def world(self) -> int:
        return int(self.launcher["nnodes"]) * int(self.launcher["nproc-per-node"])


def write(files: Mapping[str, str], folder: Path) -> Path:
    """The files of a job below `folder`, which is returned."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def recorded(script: Path, folder: Path, nodes: int) -> Started:
    """What `script` starts torchrun with; it may write below `folder` alone, and into the folder that a job
    names for its checkpoints, which drawn jobs share."""
    tools, record = folder / "tools", folder / "record"
    for each in (tools, record):
        each.mkdir(exist_ok=True)
    for name, text in {"torchrun": RECORDER, "hf": HUB}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
    path = f"{tools}{os.pathsep}{kept['PATH']}"
    environment = {
        **kept,
        "PATH": path,
        "RECORD": str(record),
        "HOME": str(folder),
        "NNODES": str(nodes),
        "NODE_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "ANY_RUN": "1",
    }
    subprocess.run(
        ["bash", str(script)],
        cwd=folder,
        env=environment,
        check=True,
        timeout=600,
        capture_output=True,
    )
    words = (record / "arguments").read_text().split("\0")[:-1]
    stated = dict(
        line.split("=", 1)
        for line in (record / "environment").read_text().split("\0")
        if "=" in line
    )
    changed = {name: value for name, value in stated.items() if environment.get(name) != value}
    return Started(*_split(words), changed)


def _split(words: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """torchrun's options end at a script or at `-m`."""
    options: dict[str, str] = {}
    rest = iter(range(len(words)))
    for index in rest:
        word = words[index]
        if not word.startswith("--"):
            return options, tuple(words[index:])
        name, sign, value = word.removeprefix("--").partition("=")
        options[name] = value if sign else words[next(rest)]
    raise ValueError(f"torchrun was given no program: {words}")


def capability(arch: str) -> tuple[int, int]:
    """`sm90` -> (9, 0); AMD's `gfx942` answers PyTorch with (9, 4)."""
    digits = re.sub(r"\D", "", arch)
    return (int(digits[0]), int(digits[1])) if arch.startswith("gfx") else divmod(int(digits), 10)
