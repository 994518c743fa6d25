"""A comment between the lines of one command, a blank or a comment behind the backslash, or no backslash.

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
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from ....reading.bash.source import file_source
from ....reading.bash.syntax_tree import parse
from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint, Edit, Place, Related

CODE = "PAR802"
TITLE = "a command that is cut between its lines"
SEVERITY = "error"
SOURCE = "bash(1), QUOTING and COMMENTS; seen in published scripts"


#: Path, lines, where the cut is, and the lines that it loses -> the complaint.
_Cut = Callable[[str, list[str], int, list[int]], Complaint]
#: What follows the backslash that was to continue the line.
_BEHIND = re.compile(r"\\(?:[ \t]+(#.*)?$)")
#: Ends of a line after which bash reads on, or that close what options do not belong to.
_GOES_ON = ("\\", "|", "&", "{", "(", ")", ";", "}")
_COMMENT = re.compile(r"\s#")
#: What opens and closes texts and arrays, a comment, and an escape; single quotes hide all but their end.
_MARK = re.compile(r"""\\.?|["']|=\(|\)|(?:(?<=\s)|^)#""")
_QUOTE = re.compile("'")
_OPTION = re.compile(r"\s*--?[A-Za-z][\w-]*(?:[=\s\\]|$)")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for path, text in launch.config.texts.items():
        if is_script(path, text):
            yield from _cut(path, text)


def _cut(path: str, text: str) -> Iterator[Complaint]:
    """One complaint for each command that is cut, at its first cut; what is lost behind it is related."""
    lines, quotes = [line.rstrip("\r") for line in text.split("\n")], _open_quotes(text)
    seen = 0
    for index in range(len(lines) - 1):
        what = _cuts(lines, index)
        if index < seen or quotes[index] or what is None or not _goes_on(_below(lines, index)):
            continue
        if what is _at_end and index + 1 not in _options_run(text):
            continue
        lost = list(_lost(lines, index))
        seen = lost[-1] + 1
        related = tuple(Related("this option is lost", _option(path, lines, at)) for at in lost)
        complaint = replace(what(path, lines, index, lost), related=related)
        # Of lines that end in \r\n no backslash continues one, and offsets are others.
        yield replace(complaint, edits=()) if "\r" in text else complaint


def _below(lines: list[str], index: int) -> str:
    """The line below a cut; several comments cut a command once."""
    below = lines[index + 1 :]
    return next((line for line in below if not line.lstrip().startswith("#")), "")


def _goes_on(line: str) -> bool:
    """Whether a line was meant to continue the one above it: an option, or words with more lines below."""
    words = line[:1].isspace() and line.strip().endswith("\\") and line.strip()[0] not in "#\\"
    return words or _OPTION.match(line) is not None


def _cuts(lines: list[str], index: int) -> _Cut | None:
    """The function that complains, if a line ends a command that goes on below it."""
    before, line = lines[index - 1] if index else "", lines[index]
    comment = line.lstrip().startswith("#")
    if comment and before.endswith("\\") and not before.lstrip().startswith("#"):
        return _at_comment
    if not comment and _BEHIND.search(line):
        return _at_blank
    return _at_end if _ends_early(lines, index) else None


def _ends_early(lines: list[str], index: int) -> bool:
    """Whether a line lacks its backslash: the one above has one, and the one below is indented options."""
    above, line, below = (lines[at] if at >= 0 else "" for at in (index - 1, index, index + 1))
    if not above.endswith("\\") or above.lstrip().startswith("#") or not below[:1].isspace():
        return False
    ends = line.rstrip()
    complete = bool(ends.strip()) and not ends.lstrip().startswith("#") and "<<" not in ends
    return complete and not ends.endswith(_GOES_ON) and _OPTION.match(below) is not None


def _at_comment(path: str, lines: list[str], index: int, lost: list[int]) -> Complaint:
    line = lines[index]
    place = Place(path, index + 1, len(line) - len(line.lstrip()) + 1, len(line.strip()))
    message = f"the comment ends the command: {_counted(lost)} lost"
    return Complaint(message, place, help="move the comment above the command")


def _at_blank(path: str, lines: list[str], index: int, lost: list[int]) -> Complaint:
    match = next(_BEHIND.finditer(lines[index]))
    place = Place(path, index + 1, match.start() + 1, len(match[0]))
    if match[1]:
        message = f"the comment behind the backslash ends the command: {_counted(lost)} lost"
        return Complaint(message, place, help="move the comment above the command")
    message = f"a blank behind the backslash ends the command here: {_counted(lost)} lost"
    edits = tuple(_trimmed(path, lines, at) for at in (index, *lost) if _blank(lines[at]))
    return Complaint(message, place, help="remove the blank", edits=edits)


@lru_cache(maxsize=4)
def _options_run(text: str) -> frozenset[int]:
    """Lines, from 0, that bash runs as commands by the name of an option: no text, array or heredoc."""
    rows, waiting = set[int](), [parse(file_source("", text))]
    while waiting:
        node = waiting.pop()
        name = node.child_by_field_name("name") if node.type == "command" else None
        if name is not None and (name.text or b"").startswith(b"-"):
            rows.add(name.start_point[0])
        waiting += node.children
    return frozenset(rows)


def _at_end(path: str, lines: list[str], index: int, lost: list[int]) -> Complaint:
    ends = len(lines[index].rstrip())
    place = Place(path, index + 1, ends, 1)
    message = f"no backslash ends the line, so the command ends here: {_counted(lost)} lost"
    if _COMMENT.search(lines[index]):
        return Complaint(
            message, place, help="move the comment above the command, and end with ` \\`"
        )
    edit = replace(_trimmed(path, lines, index), text=" \\")
    return Complaint(message, place, help="end the line with ` \\`", edits=(edit,))


def _blank(line: str) -> bool:
    """Whether blanks alone follow the backslash."""
    match = _BEHIND.search(line)
    return match is not None and not match[1]


def _counted(lost: list[int]) -> str:
    return (
        "the option below it is" if len(lost) == 1 else f"{len(lost)} lines of options below it are"
    )


def _lost(lines: list[str], index: int) -> Iterator[int]:
    """The lines of options behind a cut, up to the one that would have ended the command."""
    for at in range(index + 1, len(lines)):
        line = lines[at]
        if line.lstrip().startswith("#"):
            continue
        if not _goes_on(line):
            return
        yield at
        if not _BEHIND.sub("\\\\", line).endswith("\\"):
            return


def _option(path: str, lines: list[str], at: int) -> Place:
    word = lines[at].split()[0]
    return Place(path, at + 1, lines[at].index(word) + 1, len(word))


def _trimmed(path: str, lines: list[str], index: int) -> Edit:
    """Take the blanks at a line's end away."""
    start = sum(len(line) + 1 for line in lines[:index])
    kept = len(lines[index].rstrip())
    return Edit(path, start + kept, start + len(lines[index]), "")


@lru_cache(maxsize=4)
def _open_quotes(text: str) -> list[bool]:
    """Whether each line begins inside a quoted text or an array, where comments mean something else."""
    found, quote, array = [], "", 0
    for line in text.split("\n"):
        found.append(bool(quote) or array > 0)
        position = 0
        while match := (_QUOTE if quote == "'" else _MARK).search(line, position):
            mark, position = match[0], match.end()
            if mark == "#" and not quote:
                break
            if mark in ("'", '"') and quote in ("", mark):
                quote = "" if quote else mark
            elif not quote:
                array = max(0, array + {"=(": 1, ")": -1}.get(mark, 0))
    return found
