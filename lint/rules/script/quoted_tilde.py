"""A `~` in quotes in the path that a shell command makes, opens or enters.

Why:
bash turns `~` into the home folder only where it stands without quotes, and not when a variable is expanded:
`mkdir -p "~/runs"` makes a folder named `~` below the current one, `cd "~/code"` and `source "~/env.sh"` find
nothing. Options of a program are not judged: Hugging Face's Trainer expands `~` in its folders itself.

Bad:
OUT="~/runs/llama"
mkdir -p "$OUT"
torchrun --nproc-per-node 8 train.py --output_dir "$OUT"

Good:
OUT="$HOME/runs/llama"
mkdir -p "$OUT"
torchrun --nproc-per-node 8 train.py --output_dir "$OUT"
"""

from __future__ import annotations

from collections.abc import Iterator

from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import descendants, parse
from ....reading.bash.trace import TracedCommand
from ....reading.bash.values import Word
from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint, Place, Related

CODE = "PAR817"
TITLE = "a ~ in quotes, which no shell expands"
SEVERITY = "error"
STOPS = "itself"
SOURCE = "bash(1), Tilde Expansion; tried with bash 5.2"
SINCE = "2026-12"

#: What happens to a command that is given such a path.
_FINDS_NOTHING, _MAKES = "finds nothing", "makes a folder named ~"
_DOES = {
    "cd": _FINDS_NOTHING,
    "pushd": _FINDS_NOTHING,
    "source": _FINDS_NOTHING,
    ".": _FINDS_NOTHING,
    "ls": _FINDS_NOTHING,
    "rm": _FINDS_NOTHING,
    "touch": _FINDS_NOTHING,
    "mkdir": _MAKES,
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    path = launch.path
    text = launch.config.texts.get(path, "")
    if not is_script(path, text) or not any(mark in text for mark in ('"~/', "'~/")):
        return
    lines, statements, said = text.split("\n"), _statements(text), set()
    for command in launch.commands_of(path):
        if command.place[0] != path or command.place[1:] not in statements:
            continue
        for word, does in _paths(command):
            at = word.origin
            key = (at.path, at.line, at.column)
            if at.path == path and key not in said and _is_quoted(lines, at.line, at.column):
                said.add(key)
                yield _complaint(command, word, does)


def _statements(text: str) -> set[tuple[int, int]]:
    """Where commands of the script begin, by line and column; the text of an `eval` is read again, and its
    quotes are gone."""
    nodes = (node for node in descendants(parse(file_source("", text))) if node.type == "command")
    return {(node.start_point[0] + 1, node.start_point[1] + 1) for node in nodes}


def _paths(command: TracedCommand) -> Iterator[tuple[Word, str]]:
    """Paths below a literal `~` that bash itself or a tool of the shell takes, and what it does with them."""
    name = command.programs[-1]
    if name in _DOES:
        yield from ((word, _DOES[name]) for word in command.words[1:] if _is_below(word))
    yield from ((word, "is not opened") for word in command.opens if _is_below(word))


def _is_below(word: Word) -> bool:
    return word.lead.startswith("~/")


def _is_quoted(lines: list[str], line: int, column: int) -> bool:
    """Whether a quote stands before the `~`."""
    return 0 < line <= len(lines) and column > 1 and lines[line - 1][column - 2] in "\"'"


def _complaint(command: TracedCommand, word: Word, does: str) -> Complaint:
    at = word.origin
    shown = word.lead.split(" ")[0]
    name = command.programs[-1]
    what = f"`{name} {shown}` {does}" if name in _DOES else f"{shown} {does}"
    related: tuple[Related, ...] = ()
    if (at.path, at.line) != command.place[:2]:
        related = (Related("used here", Place(*command.place)),)
    message = f"~ in quotes is no home folder: {what}"
    return Complaint(message, Place(at.path, at.line, at.column, 1), related, "$HOME in its place")
