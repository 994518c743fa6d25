"""A command writes its output to a file in a folder that nothing makes.

Why:
bash opens the file before it starts the command: "No such file or directory", and the command never runs.
tee says the same and trains on, without a log. Nothing is said where the folder is there, an earlier command
names it, a page (`*.md`) says to make it, or the script changes its folder.

Bad:
torchrun --nproc-per-node 8 train.py &> logs/train.log

Good:
mkdir -p logs
torchrun --nproc-per-node 8 train.py &> logs/train.log
"""

import posixpath
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.bash.commands.launching import LAUNCHERS, PYTHONS
from ....reading.bash.trace import TracedCommand
from ....reading.bash.values import Word
from ...facts.batch import batches
from ...facts.commands import makes_folder, place_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR813"
TITLE = "a redirection into a folder that nothing makes"
SEVERITY = "error"
STOPS = "itself"
SINCE = "2026-12"
SOURCE = "bash(1), REDIRECTION"

#: Programs that run something long, each of them lost with its log.
_RUNS = {*LAUNCHERS, *PYTHONS, "srun", "mpirun", "mpiexec"}
_MOVES = ("cd", "pushd", "popd", "source", ".", "git", "tar", "unzip")
_QUIET = ("echo", "printf")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    opened = {folder for batch in batches(launch) for _, folder in batch.output_folders("output")}
    ran = launch.commands_of(launch.path)
    for at, command in enumerate(ran):
        if command.programs[-1] in _MOVES:
            return
        for word in _written(command, ran[at - 1] if at else command):
            folder = posixpath.dirname(word.lead)
            if not _own(folder) or folder in opened or launch.has_folder(folder, launch.path):
                continue
            if any(_names(each, folder) for each in ran[:at]):
                continue
            tee = command.programs[-1] == "tee"
            message = f"nothing makes the folder {folder}: " + (
                "tee writes no log" if tee else f"`{command.programs[-1]}` does not start"
            )
            severity: Severity | None = "warning" if tee else None
            yield Complaint(message, place_of(word, command), (), f"mkdir -p {folder}", severity)
            return


def _written(command: TracedCommand, before: TracedCommand) -> Iterator[Word]:
    """The files that a run writes its output to, by itself or by a tee behind it."""
    if command.programs[-1] == "tee" and _runs(before):
        yield from (word for word in command.words[1:] if not word.lead.startswith("-"))
    elif _runs(command):
        yield from command.opens


def _runs(command: TracedCommand) -> bool:
    return not _RUNS.isdisjoint(command.programs)


def _own(folder: str) -> bool:
    """Whether a folder is one of the checkout: relative, and known as it stands."""
    return bool(folder) and folder != "." and not folder.startswith(("/", "~", "..", ">"))


def _names(command: TracedCommand, folder: str) -> bool:
    """Whether a command may make a folder: it names it or one below, or words that are not known."""
    if makes_folder(command, folder):
        return True
    return command.programs[-1] not in _QUIET and any(
        folder in word.lead or folder in word.tail for word in command.words if not _is_text(word)
    )


def _is_text(word: Word) -> bool:
    """Whether a word is the text that a shell runs (`bash -c`), whose commands are asked themselves."""
    return " " in word.lead
