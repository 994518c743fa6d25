"""A launch script of any style -> the command that it starts, with a recorder in place of every launcher."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.support.recorded_launches import PREFIXES, RECORDER, write

LAUNCHERS = ("torchrun", "deepspeed", "accelerate")
#: Starts the words behind its own options, as srun does.
SRUN = """#!/usr/bin/env bash
while [[ $1 == -* ]]; do shift; done
exec "$@"
"""
SCONTROL = "#!/usr/bin/env bash\necho node0\n"


@dataclass(frozen=True)
class Launch:
    """A launcher's name and words, the program with its arguments, and what the script set."""

    name: str
    launcher: tuple[str, ...]
    program: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def world(self) -> int:
        nodes, each = self.number("nnodes", "num_nodes"), self.number("nproc-per-node", "num_gpus")
        return nodes * each

    def number(self, *names: str) -> int:
        """Of a launcher's option, in either spelling; 1 without it."""
        for index, word in enumerate(self.launcher):
            name, sign, value = word.removeprefix("--").replace("_", "-").partition("=")
            if name in {each.replace("_", "-") for each in names}:
                return int(value if sign else self.launcher[index + 1])
        return 1


def started(files: Mapping[str, str], script: str, folder: Path, nodes: int) -> Launch:
    """What the script starts on the first of its nodes. Raises `CalledProcessError` when bash ends it."""
    write(files, folder)
    tools, record = folder / ".tools", folder / ".record"
    record.mkdir(exist_ok=True)
    stubs = {name: f"{RECORDER}echo {name} >$RECORD/launcher\n" for name in LAUNCHERS}
    for name, text in {**stubs, "srun": SRUN, "scontrol": SCONTROL}.items():
        tools.mkdir(exist_ok=True)
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = _environment(folder, nodes)
    subprocess.run(
        ["bash", script],
        cwd=folder,
        env=environment,
        check=True,
        timeout=60,
        capture_output=True,
    )
    stated = _pairs((record / "environment").read_text().split("\0"))
    changed = {name: value for name, value in stated.items() if environment.get(name) != value}
    launcher, program = divided((record / "arguments").read_text().split("\0")[:-1])
    return Launch((record / "launcher").read_text().strip(), launcher, program, changed)


def _environment(folder: Path, nodes: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
    return {
        **kept,
        "PATH": f"{folder / '.tools'}{os.pathsep}{kept['PATH']}",
        "RECORD": str(folder / ".record"),
        "HOME": str(folder),
        "NNODES": str(nodes),
        "NODE_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "ANY_RUN": "1",
        "SLURM_NNODES": str(nodes),
        "SLURM_JOB_ID": "17",
        "SLURM_JOB_NODELIST": "node0",
    }


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines if "=" in line)


def divided(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A launcher's own words and the program's: the program is a file of Python, or what -m names."""
    for index, word in enumerate(words):
        if word == "-m" or re.search(r"\.py$", word):
            return tuple(words[:index]), tuple(words[index:])
    raise ValueError(f"no program was started: {words}")
