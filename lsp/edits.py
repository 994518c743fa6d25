"""A job file -> edits of it: its canonical form, another name for a definition, the cure of a complaint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..dsl.diagnostics import Diagnostic, JobError, Source, Span
from ..dsl.evaluation.scope import RESERVED
from ..dsl.formatting.canonical import formatted
from .document import Document
from .places import Place, places


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


def references(document: Document, place: Place) -> list[Span]:
    """Where what a word names is written in this file; nothing if another file defines it."""
    defined = _defined(document, place)
    if defined is None:
        return []
    return [each.span for each in places(document.file) if _defined(document, each) == defined]


def rename_edits(document: Document, place: Place, name: str) -> list[Replacement]:
    """The edits that give it another name; nothing where that is no name or means something else."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in RESERVED or name in document.scope.lets:
        return []
    return [Replacement(span.start, span.end, name) for span in references(document, place)]


def _defined(document: Document, place: Place) -> tuple[str, str] | None:
    """The kind and name of what a word names, if this file defines it."""
    if place.role in ("let", "use") and place.word in document.scope.lets:
        own = document.scope.lets[place.word].span.source.name == document.path
        return ("let", place.word) if own else None
    kind = ""
    if place.role in ("name", "base") and place.block:
        kind = place.block.kind.name
    elif place.role == "use" and place.setting:
        kind = place.setting.key.name
    return (kind, place.word) if (kind, place.word) in document.scope.own else None


def cures(complaint: Diagnostic, path: str) -> list[Replacement]:
    """The edits that cure a complaint, where it has any and they are all in this file."""
    edits = complaint.fix.edits if complaint.fix else ()
    if any(edit.span.source.name != path for edit in edits):
        return []
    return [Replacement(edit.span.start, edit.span.end, edit.text) for edit in edits]
