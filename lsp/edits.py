"""A job file -> edits of it: its canonical form, the cure of a complaint."""

from __future__ import annotations

from dataclasses import dataclass

from ..dsl.diagnostics import Diagnostic, JobError, Source
from ..dsl.formatting.canonical import formatted
from .document import Document


@dataclass(frozen=True)
class Replacement:
    """A text in the place of the characters from `start` to `end`, the end exclusive."""

    start: int
    end: int
    text: str


def format_edits(document: Document) -> list[Replacement]:
    """The canonical form; nothing for a text with syntax errors, or one that has it."""
    try:
        text = formatted(Source(document.path, document.text))
    except JobError:
        return []
    whole = Replacement(0, len(document.text), text)
    return [whole] if text != document.text else []


def cures(complaint: Diagnostic, path: str) -> list[Replacement]:
    """The edits that cure a complaint, where it has any and they are all in this file."""
    edits = complaint.fix.edits if complaint.fix else ()
    if any(edit.span.source.name != path for edit in edits):
        return []
    return [Replacement(edit.span.start, edit.span.end, edit.text) for edit in edits]
