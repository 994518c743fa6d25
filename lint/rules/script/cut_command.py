"""A comment, or a blank behind the backslash, between the lines of one command.

Why:
The command ends there. The options below run as commands of their own ("--bf16: command not found"), and
the job trains without them.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 32 \\
    # --bf16 \\
    --hidden-size 4096

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 32 \\
    --hidden-size 4096
"""

import re
from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint, Edit, Place

CODE = "PAR802"
TITLE = "a command that is cut between its lines"
SEVERITY = "error"
SOURCE = "bash(1), QUOTING and COMMENTS; seen in published scripts"


_OPTION = re.compile(r"\s*--?[A-Za-z][\w-]*(?:[=\s\\]|$)")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, text in launch.config.texts.items():
        if is_script(path, text):
            yield from _cut(path, [line.rstrip("\r") for line in text.split("\n")])


def _cut(path: str, lines: list[str]) -> Iterator[Complaint]:
    quotes = _open_quotes(lines)
    for index in range(1, len(lines) - 1):
        before, line, after = lines[index - 1], lines[index], lines[index + 1]
        if quotes[index] or not _OPTION.match(after):
            continue
        comment = (
            line.lstrip().startswith("#")
            and before.endswith("\\")
            and not before.lstrip().startswith("#")
        )
        if comment:
            place = Place(path, index + 1, len(line) - len(line.lstrip()) + 1, len(line.strip()))
            yield Complaint(
                "the comment ends the command: the options below it are lost",
                place,
                help="move the comment above the command",
            )
        elif re.search(r"\\[ \t]+$", line) and not line.lstrip().startswith("#"):
            column = len(line.rstrip())
            place = Place(path, index + 1, column, len(line) - column + 1)
            yield Complaint(
                "a blank behind the backslash ends the command here",
                place,
                help="remove the blank",
                edits=_trimmed(path, lines, index),
            )


def _trimmed(path: str, lines: list[str], index: int) -> tuple[Edit, ...]:
    """Take the blanks away; only where lines end in a plain newline are offsets their lengths."""
    start = sum(len(line) + 1 for line in lines[:index])
    kept = len(lines[index].rstrip())
    return (Edit(path, start + kept, start + len(lines[index]), ""),)


def _open_quotes(lines: list[str]) -> list[bool]:
    """Whether each line begins inside a quoted text or an array, where comments mean something else."""
    found, quote, array = [], "", 0
    for line in lines:
        found.append(bool(quote) or array > 0)
        position = 0
        while position < len(line):
            character = line[position]
            if character == "\\" and quote != "'":
                position += 2
                continue
            if not quote and character == "#" and (position == 0 or line[position - 1].isspace()):
                break
            if character in "\"'":
                quote = "" if quote == character else quote or character
            elif not quote and line.startswith("=(", position):
                array += 1
            elif not quote and character == ")" and array:
                array -= 1
            position += 1
    return found
