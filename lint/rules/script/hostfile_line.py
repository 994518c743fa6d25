"""A line of a hostfile that the deepspeed launcher cannot read: it wants `host slots=N`.

Why:
The launcher stops before it has started a process: "Hostfile contains a bad entry" or "Bad hostfile text".

Bad:
--- launch.sh
deepspeed --hostfile hosts.txt train.py --deepspeed_config ds_config.json
--- hosts.txt
worker-1 slots=8
worker-2 slot=8
--- ds_config.json
{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}}

Good:
--- hosts.txt
worker-1 slots=8
worker-2 slots=8
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from ....dsl.diagnostics import Source, Span
from ....reading.bash.trace import program
from ....reading.facts import Setting, text_of
from ....reading.placeholders import is_placeholder
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR812"
TITLE = "a hostfile that the deepspeed launcher cannot read"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "DeepSpeed 0.19.8 launcher/runner.py, _parse_hostfile; deepspeedai/DeepSpeed#3669"
SINCE = "2026-12"

#: What the launcher reads of a line, whatever stands behind it.
_HOST = re.compile(r"\S+\s+slots=\d+")
#: Programs that make or change a file.
_WRITES = frozenset({"tee", "cp", "mv", "ln", "rm", "sed", "wget", "curl"})
#: Lines that are read: more are no hostfile.
_MOST = 10_000


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """One complaint for a file, at its first wrong line."""
    given = launch.setting("launcher", "--hostfile")
    found = _hostfile(launch, given) if given is not None and _of_deepspeed(launch) else None
    if given is None or found is None:
        return
    for start, line in _lines(found.text):
        if line and not line.startswith("#") and not _HOST.match(line):
            message = f"the deepspeed launcher cannot read `{line[:60]}`"
            place = Span(found, start, start + len(line))
            related = (Related("the hostfile", given),)
            yield Complaint(message, place, related, "`host slots=N`, N the GPUs of the host")
            return


def _of_deepspeed(launch: LaunchedJob) -> bool:
    """Whether the option is that of `deepspeed`, and not of an mpirun."""
    at = launch.config.command
    own = (each for each in launch.config.trace if each.words[0].origin[1:4] == at)
    return any(program(each.words[0]) == "deepspeed" for each in own)


def _hostfile(launch: LaunchedJob, given: Setting) -> Source | None:
    """The file, beside the script or in a folder above it; None for one of the cluster's."""
    path = text_of(given)
    if (
        path is None
        or is_placeholder(path)
        or PurePath(path).is_absolute()
        or _written(launch, path)
    ):
        return None
    for place in PurePath(launch.path).parents:
        text = launch.read(str(place / path))
        if text and text.count("\n") < _MOST:
            return Source(str(place / path), text)
    return None


def _written(launch: LaunchedJob, path: str) -> bool:
    """Whether a script may make the file: a command that writes names it."""
    for command in launch.config.trace:
        words = command.words[1:] if command.programs[-1] in _WRITES else ()
        if any(
            PurePath(word.tail).name == PurePath(path).name for word in (*command.opens, *words)
        ):
            return True
    return False


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Where each line begins, and the line without the space around it."""
    start = 0
    for line in text.split("\n"):
        yield start + len(line) - len(line.lstrip()), line.strip()
        start += len(line) + 1
