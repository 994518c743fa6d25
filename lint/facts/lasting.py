"""A job -> what it keeps of its training, and whether something starts it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...backends import readers
from ...backends.kept import Files, Kept
from ...reading.bash.trace import TracedCommand
from ...reading.facts import LaunchConfig
from ..finding import At
from .batch import Batch, batches
from .commands import may_run, place_of, requeues
from .launched_job import LaunchedJob


@dataclass(frozen=True)
class Restart:
    """The cause of a restart, in words, and its place."""

    words: str
    at: At


def kept_by(config: LaunchConfig) -> Kept | None:
    """Checkpoints by the first program that knows the settings; their names tell whose they are."""
    return next((found for each in readers() if (found := each.kept(config)) is not None), None)


def layout_at(config: LaunchConfig, folder: str, files: Files) -> Mapping[str, int]:
    """The facts of the layout that wrote the newest checkpoint of a folder, as names of files tell."""
    own = (each for each in readers() if each.kept(config) is not None)
    return next(filter(None, (each.layout_at(config, folder, files) for each in own)), {})


def takes_more(launch: LaunchedJob) -> bool:
    """Whether a script hands on what its caller gives: an option that it lacks may be among that."""
    return any(read.name in ("@", "*") for read in launch.config.reads)


def moves(config: LaunchConfig) -> bool:
    """Whether a script changes the folder in which the program starts."""
    return any(command.programs[-1] in ("cd", "pushd") for command in config.trace)


def restart(launch: LaunchedJob) -> Restart | None:
    """SLURM after a failure or a preemption, the script itself, or the next element of an array that runs one
    at a time."""
    return next((found for batch in batches(launch) if (found := _restart(launch, batch))), None)


def _restart(launch: LaunchedJob, batch: Batch) -> Restart | None:
    ran = may_run(launch, batch)
    for again, words in ((requeues, "it requeues itself"), (_submits_itself, "it submits itself")):
        command = next(filter(again, ran), None)
        if command is not None:
            return Restart(words, place_of(command.words[0], command))
    array = batch.get("array")
    if array and (array.value or "").endswith("%1") and "SLURM_ARRAY_TASK_ID" not in batch.text:
        return Restart("one element of the array follows another", array.place)
    given = [each for each in batch.every if each.name in ("requeue", "no-requeue")]
    if given and given[-1].name == "requeue":
        return Restart("SLURM requeues it", given[-1].place)
    return None


def _submits_itself(command: TracedCommand) -> bool:
    """Whether sbatch is given the script that runs it, as `$0` or `${BASH_SOURCE[0]}` does."""
    given = (word.text for word in command.words[1:])
    return command.programs[-1] == "sbatch" and any(text in command.scripts for text in given)
