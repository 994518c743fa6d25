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
    "format": "parc fmt job.par", "convert": "parc import train.sh", "help": "parc --help",
    "version": "parc --version",
}  # fmt: skip
#: Options of launchers that say how many GPUs there are.
_GPUS = (
    "nproc-per-node", "nnodes", "num-gpus", "num-nodes", "num-processes", "ngpus", "n-gpus", "gpus-per-node",
    "world-size", "devices", "nodes",
)  # fmt: skip
#: Those that count nodes.
_NODES = ("nnodes", "num-nodes", "nodes")
#: Short options that parc does not have -> the long ones that it has.
_LONG = {"m": "model", "g": "gpus", "t": "target"}
#: What each command that reads something is at least given.
_EXAMPLES = {
    "estimate": "job.par --layout tp=8", "compile": "job.par -o out", "trace": "job.par -o trace.json",
    "lint": "train.sh", "import": "train.sh", "compare": "one.par two.par",
    "sweep": "job.par --over cluster.nodes=4,8", "trials": "job.par -o trials",
    "calibrate": "run.log --job job.par -o site.par", "measure": "-o site.par", "completion": "bash",
    "reshape": "old.par new.par",
}  # fmt: skip
_INIT = "parc init --model llama3_8b --gpus 2x8xH100"
_PLAIN = re.compile(r"--?([A-Za-z][\w.-]{0,60})(?:=(.{0,80}))?")


def wrong_usage(command: str, message: str) -> Diagnostic:
    """The complaint of argparse about a command, with a line of what it takes."""
    help = f"`parc {command} --help` lists what it takes"
    if "are required" in message:
        help = f"for example `parc {command} {_EXAMPLES.get(command, 'job.par')}`; {help}"
    return Diagnostic(USAGE, f"`parc {command}`: {message}", help=help)


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
    if (long := _LONG.get(name)) is not None and command == "init":
        return f"`--{long}`, as in `parc init --model Qwen/Qwen3-8B --gpus 8xH100`"
    if name in ("o", "output") and command == "plan":
        return f"`parc compile job.par -o {value or 'out'}` writes the files"
    if name in _NODES and command != "init" and value.isdecimal():
        return f"it is a setting of the job: `--set cluster.nodes={value}`"
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
