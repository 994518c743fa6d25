"""`# parc: ignore[PAR202] reason` in scripts and TOML: which findings it hides, and which it hid none of.

On a line of its own a comment covers the next statement, or, above the first statement of a file, the whole
file; at the end of a line of code it covers that line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...compiler.codes import change, current, is_retired
from ..finding import Complaint, Finding, Place

_COMMENT = re.compile(r"(?:^|\s)#\s*parc:\s*ignore\[(?P<codes>[^\]\n]*)\]")


@dataclass(frozen=True)
class Ignore:
    """One code of one comment, and the lines that it covers."""

    code: str
    path: str
    line: int
    column: int
    length: int
    lines: range

    def covers(self, path: str, line: int) -> bool:
        return self.path == path and line in self.lines

    def complaint(self) -> Complaint:
        place = Place(self.path, self.line, self.column, self.length)
        if is_retired(self.code) and (retired := change(self.code)):
            return Complaint(retired, place, severity="info")
        help_text = "remove it, or move it to the line that it is meant for"
        return Complaint(f"`{self.code}` is ignored here and does not occur", place, help=help_text)


class Ignores:
    """The suppressions of a job's files."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.found = [each for path, text in texts.items() for each in _ignores(path, text)]
        self._used: set[Ignore] = set()

    def hide(self, finding: Finding) -> bool:
        """Whether a comment covers the finding's place or one of its related places."""
        spans = [finding.diagnostic.span, *(note.span for note in finding.diagnostic.notes)]
        places = [(span.source.name, span.line) for span in spans if span is not None]
        hiding = [
            ignore
            for ignore in self.found
            if current(ignore.code) in (finding.code, finding.name)
            and any(ignore.covers(path, line) for path, line in places)
        ]
        self._used.update(hiding)
        return bool(hiding)

    def unused(self) -> list[Ignore]:
        """Ignores that hid nothing, and those of retired codes, which are to be replaced."""
        return [each for each in self.found if each not in self._used or is_retired(each.code)]


def _ignores(path: str, text: str) -> Iterator[Ignore]:
    if "parc:" not in text:
        return
    lines = text.split("\n")
    head = _first_statement(lines)
    for number, line in enumerate(lines, 1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        alone = line.lstrip().startswith("#")
        covered = range(number, number + 1)
        if alone:
            covered = range(1, len(lines) + 1) if number < head else _next_statement(lines, number)
        for code in filter(None, re.split(r"[,\s]+", comment["codes"])):
            column = line.index(code, comment.start("codes")) + 1
            yield Ignore(code, path, number, column, len(code), covered)


def _first_statement(lines: list[str]) -> int:
    """Number of the first line that is neither blank nor a comment."""
    numbered = enumerate(lines, 1)
    return next((n for n, line in numbered if _is_code(line)), len(lines) + 1)


def _next_statement(lines: list[str], number: int) -> range:
    """The lines of the statement below a comment, continued ones included."""
    first = next((n for n in range(number + 1, len(lines) + 1) if _is_code(lines[n - 1])), number)
    last = first
    while last < len(lines) and lines[last - 1].rstrip("\r").endswith("\\"):
        last += 1
    return range(first, last + 1)


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
