"""A job -> what it keeps of its training, and whether something starts it again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...backends import readers
from ...backends.kept import Files, Kept
from ...reading.facts import LaunchConfig
from ..finding import At
from .batch import Batch, batches
from .launched_job import LaunchedJob

_REQUEUE = r"\bscontrol\s+requeue\b"
#: A script that submits itself, at its end or before it.
_RESUBMITS = r"^(?>.*?\bsbatch\b).*(?:\$\{?0\b|\$\{?BASH_SOURCE)"
#: All arguments of a script or a function.
_HANDED_ON = re.compile(r"\$\{?[@*]")
#: Whether a job runs, asked a few lines before.
_JOB, _NEAR = re.compile(r"\bSLURM_?JOB_?ID\b"), 8
#: What changes the folder in which a program starts.
_MOVES = re.compile(r"(?:^|[\s;&'\"(])(?:cd|pushd)\s")


@dataclass(frozen=True)
class Restart:
    """The cause of a restart, in words, and its place."""

    words: str
    at: At


def _outside(batch: Batch, number: int) -> bool:
    """Whether the line stands behind a test for a job: a script that is started by hand submits itself."""
    before = batch.lines[max(0, number - _NEAR) : number]
    return any("[" in line and _JOB.search(line) for line in before)


def kept_by(config: LaunchConfig) -> Kept | None:
    """Checkpoints by the first program that knows the settings; their names tell whose they are."""
    return next((found for each in readers() if (found := each.kept(config)) is not None), None)


def layout_at(config: LaunchConfig, folder: str, files: Files) -> Mapping[str, int]:
    """The facts of the layout that wrote the newest checkpoint of a folder, as names of files tell."""
    own = next((each for each in readers() if each.kept(config) is not None), None)
    return own.layout_at(config, folder, files) if own else {}


def takes_more(launch: LaunchedJob) -> bool:
    """Whether a script hands on what its caller gives: an option that it lacks may be among that."""
    return launch.says(_HANDED_ON)


def moves(config: LaunchConfig) -> bool:
    """Whether a file changes the folder in which the program starts."""
    return any(_MOVES.search(text) for text in config.texts.values())


def restart(launch: LaunchedJob) -> Restart | None:
    """SLURM after a failure or a preemption, the script itself, or the next element of an array that runs one
    at a time."""
    return next((found for batch in batches(launch) if (found := _restart(batch))), None)


def _restart(batch: Batch) -> Restart | None:
    for pattern, words in ((_REQUEUE, "it requeues itself"), (_RESUBMITS, "it submits itself")):
        for number, _ in batch.commands(pattern):
            if pattern is _REQUEUE or not _outside(batch, number):
                return Restart(words, batch.place(number, pattern))
    array = batch.get("array")
    if array and (array.value or "").endswith("%1") and "SLURM_ARRAY_TASK_ID" not in batch.text:
        return Restart("one element of the array follows another", array.place)
    given = [each for each in batch.every if each.name in ("requeue", "no-requeue")]
    if given and given[-1].name == "requeue":
        return Restart("SLURM requeues it", given[-1].place)
    return None
