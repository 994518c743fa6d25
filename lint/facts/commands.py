"""The commands that a batch script runs, and what they start."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Sequence

from ...reading import sbatch_options
from ...reading.bash.commands.launching import LAUNCHERS, PYTHONS, SHELLS
from ...reading.bash.trace import Assignment, Expansion, TracedCommand, program
from ...reading.bash.values import Word, plain
from ..finding import Place
from .batch import Batch, Directive, directive
from .launched_job import LaunchedJob

#: Programs that start processes on other nodes without srun, and those that are started through them.
_REACHING_WORDS = """srun mpirun mpiexec ssh pdsh clush parallel ibrun jsrun orterun blaunch dsh ray
    horovodrun"""
_REACHING = frozenset(_REACHING_WORDS.split())
_REACHING_OPTIONS = ("--hostfile", "--launcher")
#: `-p` among the short options of mkdir.
_P = re.compile("-[a-z]*p")
_LAUNCHING_MODULES = ("torch.distributed.run", "torch.distributed.launch")


def ran_by(launch: LaunchedJob, batch: Batch) -> list[TracedCommand]:
    """The commands of a batch script, and of what it starts."""
    return launch.commands_of(batch.path)


def may_run(launch: LaunchedJob, batch: Batch) -> list[TracedCommand]:
    """The commands of a batch script, of what it starts, of their traps and of commands that fail."""
    return launch.may_run(batch.path)


def set_by(launch: LaunchedJob, batch: Batch) -> list[Assignment]:
    """The assignments that are written in a batch script."""
    return [each for each in launch.config.assignments if each.place[0] == batch.path]


def used_by(launch: LaunchedJob, batch: Batch) -> list[Expansion]:
    """The variables that a batch script expands, but for those that it only prints."""
    printing = filter(prints, may_run(launch, batch))
    printed = {read for command in printing for read in command.reads}
    reads = (read for read in launch.config.reads if read.path == batch.path)
    return [read for read in reads if read not in printed]


def is_default(launch: LaunchedJob, value: str) -> bool:
    """Whether a value is only what a script takes where its caller gives none, as in `${PORT:-29500}`."""
    ran = launch.config.trace
    words = (piece for command in ran for word in command.words for piece in word.pieces)
    values = (piece for made in launch.config.assignments for piece in made.value)
    same = (piece for pieces in (words, values) for piece in pieces if piece.text == value)
    return any(launch.defaulted(piece) for piece in same)


def prints(command: TracedCommand) -> bool:
    """Whether the script itself does nothing but print."""
    return program(command.words[0]) in ("echo", "printf") and not command.wrappers


def literal(made: Assignment) -> str | None:
    """The value where it is written as it is, and is no expansion's."""
    text = plain(made.value) if made.value and not made.reads else None
    beside = bool(made.value) and made.place < made.value[0][1:4] < (*made.place[:2], math.inf)
    return text if beside and isinstance(text, str) else None


def steps(commands: Sequence[TracedCommand]) -> Iterator[tuple[TracedCommand, tuple[Word, ...]]]:
    """Each command that srun starts on its own line, with the words of that srun."""
    for command in commands:
        own = next((words for words in command.wrappers if program(words[0]) == "srun"), None)
        if own is not None:
            yield command, own


def step_options(step: Sequence[Word]) -> dict[str, Directive]:
    """The options of an srun by their long names; the last of two counts."""
    options, _ = sbatch_options.options(step[1:], sbatch_options.SRUN)
    return {option.name: directive(option) for option in options}


def launcher(command: TracedCommand) -> Word | None:
    """The word that starts the processes of a node, in a command that does."""
    words = command.words
    match program(words[0]):
        case "torchrun":
            return words[0]
        case "deepspeed":
            starts = len(words) > 1 and (words[1].lead[:1] == "-" or words[1].tail.endswith(".py"))
            return words[0] if starts else None
        case "accelerate":
            return words[0] if len(words) > 1 and words[1].text == "launch" else None
    behind = zip(words, words[1:], strict=False)
    return next(
        (
            module
            for option, module in behind
            if option.text == "-m" and module.text in _LAUNCHING_MODULES
        ),
        None,
    )


def launchers(commands: Sequence[TracedCommand]) -> list[tuple[TracedCommand, Word]]:
    """The commands that start the processes of a node, each with the word that does."""
    return [(each, word) for each in commands if (word := launcher(each)) is not None]


def asks(command: TracedCommand) -> bool:
    """Whether the script takes the output of a command that does not train: a question."""
    return command.captured and program(command.words[0]) not in SHELLS | PYTHONS | LAUNCHERS


def requeues(command: TracedCommand) -> bool:
    return [word.text for word in command.words[:2]] == ["scontrol", "requeue"]


def written(command: TracedCommand) -> str:
    """The words as one text, with `$NAME` for what is unknown and `\\$` for a dollar that the shell keeps."""
    names = {
        (each.path, each.line, each.column + n): each for each in command.reads for n in (0, 1)
    }
    parts = []
    for word in command.words:
        for piece in word.pieces:
            read = names.get(piece[1:4])
            known = piece.text if isinstance(piece.text, str) else None
            name = f"${read.name}" if read else "$"
            parts.append(name if known is None else known.replace("$", "\\$"))
        parts.append(" ")
    return "".join(parts)


def reaches_nodes(command: TracedCommand) -> bool:
    """Whether a command, or what starts it, may start processes on other nodes."""
    hosts = any(word.lead.startswith(_REACHING_OPTIONS) for word in command.words)
    return hosts or not _REACHING.isdisjoint(command.programs)


def makes_folder(command: TracedCommand, folder: str, known: bool = False) -> bool:
    """Whether a command makes a relative or absolute folder; mkdir may make one that is not known, which
    counts unless `known` asks for the name."""
    if command.programs[-1] not in ("mkdir", "install"):
        return False
    wanted = posixpath.normpath(folder) + "/"
    parents = any(word.lead in ("--parents", "-D") or _P.match(word.lead) for word in command.words)
    for word in command.words[1:]:
        made = posixpath.normpath(word.lead or ".") + "/"
        if not word.lead:
            if not known:
                return True
        elif made == wanted or (parents and made.startswith(wanted)):
            return True
    return False


def place_of_read(read: Expansion) -> Place:
    """Where its name stands."""
    before = read.length - len(read.name)
    return Place(read.path, read.line, read.column + before, len(read.name))


def place_of(word: Word, command: TracedCommand) -> Place:
    """Where a word is written; the line of its command where it comes from outside of the files."""
    if word.path.startswith("("):
        return Place(*command.place)
    return Place(word.path, word.line, word.column, max(len(word.lead), 1))
