"""One complaint type for the whole of parc, and the one function that prints it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Span:
    """A stretch of one source text: character offsets, `end` exclusive. Lines and columns start at 1."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return bisect_right(self.source.starts, self.start)

    @property
    def column(self) -> int:
        return self.start - (self.source.text.rfind("\n", 0, self.start) + 1) + 1

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def standard(self) -> bool:
        """Whether it lies in the standard library, not in a file of the user's."""
        return self.source.name.startswith("std/")

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.start, other.end)


@dataclass(frozen=True)
class Source:
    """A text and the name a user knows it by."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line(self, number: int) -> str:
        starts = self.starts
        if number > len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")


@dataclass(frozen=True)
class Note:
    """A second position (or none) that belongs to a complaint, such as the other of two clashing lines."""

    message: str
    span: Span | None = None


@dataclass(frozen=True)
class Edit:
    """The characters of a span, replaced by a text; an empty span is where the text is put in."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """The edits that cure a complaint, together. `safe` is whether the job then says what was meant: not so
    where a line goes that the language cannot express."""

    edits: tuple[Edit, ...]
    safe: bool = True


def replaced(span: Span, text: str, safe: bool = True) -> Fix:
    """The cure that puts a text in the place of a span."""
    return Fix((Edit(span, text),), safe)


@dataclass(frozen=True)
class Diagnostic:
    """One complaint. The message alone must be enough: lower case, no full stop, the numbers that clash.

    `fix` is the help as edits, where there is one cure.
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = "error"
    notes: tuple[Note, ...] = ()
    help: str | None = None
    fix: Fix | None = None

    def __str__(self) -> str:
        return render(self)

    def to_json(self) -> dict[str, object]:
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            **_position(self.span),
            "help": self.help,
            "notes": [{"message": note.message, **_position(note.span)} for note in self.notes],
            "fix": self.fix
            and {"safe": self.fix.safe, "edits": [*map(_edit_json, self.fix.edits)]},
        }


class JobError(Exception):
    """A job that cannot be used; carries every complaint that was found, never only the first."""

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n\n".join(render(diagnostic) for diagnostic in self.diagnostics)


def render(diagnostic: Diagnostic, width: int | None = None) -> str:
    """The text of one complaint: code and message, position, source line, carets, notes, help. Lines are at
    most `width` columns long, but for a path or word that is longer; each is whole without it."""
    lines = sentence(f"{diagnostic.severity}[{diagnostic.code}]: ", diagnostic.message, width)
    if diagnostic.span is not None:
        lines += _excerpt(diagnostic.span, width)
    for note in diagnostic.notes:
        lines += sentence("  = note: ", note.message, width)
        if note.span is not None:
            lines += _excerpt(note.span, width)
    if diagnostic.help:
        lines += sentence("  = help: ", diagnostic.help, width)
    return "\n".join(lines)


#: Columns before the lines on which a sentence goes on.
_INDENT = 10


def sentence(head: str, text: str, width: int | None) -> list[str]:
    """Head and text in lines of at most `width` columns, words whole; one line without it."""
    line = f"{head}{one_line(text)}"
    if width is None or len(line) <= width:
        return [line]
    import textwrap

    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is spelt most like a word, or None when nothing is near."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return near[0] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Help text naming the nearest known word, or None when nothing is near."""
    near = nearest(word, known)
    return f"did you mean `{near}`?" if near else None


def suggested(
    word: str, span: Span, known: Iterable[str], spellings: Mapping[str, str] | None = None
) -> tuple[str | None, Fix | None]:
    """Help and cure for an unknown word: the known one that `spellings` gives for it, that differs only in
    capitals, or that is nearest, which is a guess."""
    listed = list(known)
    alike = [each for each in listed if each.lower() == word.lower()]
    said = (spellings or {}).get(word.lower().replace("-", "_"))
    found = said if said in listed else alike[0] if len(alike) == 1 else None
    near = found or nearest(word, listed)
    if near is None:
        return None, None
    return f"did you mean `{near}`?", replaced(span, near, safe=found is not None)


#: Characters of a source line that are shown, and at least.
_WIDTH, _LEAST = 120, 20


def _excerpt(span: Span, width: int | None) -> list[str]:
    """Source line and carets; a long line is cut to a window around the span, tabs become spaces."""
    line = one_line(span.source.line(span.line))
    begin = span.column - 1
    length = max(1, min(span.end - span.start, len(line) - begin))
    number = str(span.line)
    room = _WIDTH if width is None else max(_LEAST, min(_WIDTH, width - len(number) - 3))
    first = 0 if len(line) <= room else max(0, begin - room // 3)
    shown = line[first : first + room]
    carets = "^" * max(1, min(length, first + room - begin))
    gutter = " " * len(number)
    return [
        f"{gutter}--> {one_line(str(span))}",
        f"{gutter} |",
        f"{number} | {shown}",
        f"{gutter} | {' ' * (begin - first)}{carets}",
    ]


def one_line(text: str) -> str:
    """A text of as many characters: tabs as spaces, and nothing that a terminal would obey."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character == "\t" else "\N{REPLACEMENT CHARACTER}"


def _edit_json(edit: Edit) -> dict[str, object]:
    """Where an edit begins and ends, in lines, columns and characters of the text, and what it puts in."""
    span = edit.span
    end = Span(span.source, span.end, span.end)
    place = {"end_line": end.line, "end_column": end.column, "start": span.start, "end": span.end}
    return {**_position(span), **place, "text": edit.text}


def _position(span: Span | None) -> dict[str, object]:
    if span is None:
        return {"path": None, "line": None, "column": None}
    return {"path": span.source.name, "line": span.line, "column": span.column}
