"""Words of other tools on parc's command line -> what to type instead."""

from __future__ import annotations

import re

from parc.dsl.diagnostics import Diagnostic
from parc.dsl.evaluation.spellings import DECISIONS, SETTINGS
from parc.dsl.expression import VARIABLES

from .codes import USAGE

_COMPILE = "parc compile job.par -o out"
#: Commands that other tools have, and the lines that do the same here.
COMMANDS = {
    "list": "parc std", "models": "parc std --models", "gpus": "parc std --gpus",
    "clusters": "parc std --clusters", "new": "parc init", "create": "parc init", "start": "parc init",
    "search": "parc plan job.par", "optimize": "parc plan job.par", "solve": "parc plan job.par",
    "train": _COMPILE, "run": _COMPILE, "launch": _COMPILE, "submit": _COMPILE, "build": _COMPILE,
    "generate": _COMPILE, "validate": "parc check job.par", "verify": "parc check job.par",
    "format": "parc fmt job.par", "convert": "parc import train.sh",
}  # fmt: skip
#: Options of launchers that say how many GPUs there are.
_GPUS = (
    "nproc-per-node", "nnodes", "num-gpus", "num-nodes", "num-processes", "ngpus", "n-gpus", "gpus-per-node",
    "world-size", "devices", "nodes",
)  # fmt: skip
#: Those that count nodes.
_NODES = ("nnodes", "num-nodes", "nodes")
_INIT = "parc init --model llama3_8b --gpus 2x8xH100"
_PLAIN = re.compile(r"--?([A-Za-z][\w.-]{0,60})(?:=(.{0,80}))?")


def unknown_argument(command: str, rest: list[str]) -> Diagnostic:
    """The complaint about the first of the arguments that a command does not take."""
    message = f"`parc {command}` takes no `{rest[0]}`"
    return Diagnostic(
        USAGE, message, help=_meant(command, rest) or f"`parc {command} --help` lists what it takes"
    )


def _meant(command: str, rest: list[str]) -> str | None:
    found = _PLAIN.fullmatch(rest[0])
    if found is None:
        return None
    name = found[1].replace("_", "-").lower()
    value = found[2] or (rest[1] if len(rest) > 1 and not rest[1].startswith("-") else "")
    if name in _GPUS:
        number = value if value.isdecimal() else "8"
        gpus = f"{number}x8xH100" if name in _NODES else f"{number}xH100"
        return f"GPUs are given with their type: `parc init --model llama3_8b --gpus {gpus}`"
    if command != "init" and name in ("model", "hf", "gpus", "gpu"):
        return f"it takes a job: `{_INIT} --plan` writes one, and plans it"
    key = name.replace("-", "_")
    if (decision := key if key in VARIABLES else DECISIONS.get(key)) is not None:
        condition = f"{decision} == {value or 1}"
        return f'the search decides it; to fix it, `parc plan job.par --set "goal.require={condition}"`'
    if (setting := SETTINGS.get(key)) is not None and value:
        return f"it is a setting of the job, `{setting} = {value}`"
    return None
