"""Places, edits and complaints of a document -> the types of the protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lsprotocol import types
from pygls import uris

from ..dsl.diagnostics import Diagnostic, Severity, Span
from .document import Document
from .edits import Replacement
from .positions import offset_of, position_of

_SEVERITIES: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


def offset_at(text: str, position: types.Position) -> int:
    return offset_of(text, position.line, position.character)


def range_of(text: str, start: int, end: int) -> types.Range:
    return types.Range(*(types.Position(*position_of(text, each)) for each in (start, end)))


def location_of(document: Document, span: Span) -> types.Location:
    own = span.source.name == document.path
    text = document.text if own else span.source.text
    uri = uris.from_fs_path(os.path.abspath(span.source.name)) or ""
    return types.Location(uri, range_of(text, span.start, span.end))


def edits_of(document: Document, edits: Iterable[Replacement]) -> list[types.TextEdit]:
    return [
        types.TextEdit(range_of(document.text, edit.start, edit.end), edit.text) for edit in edits
    ]


def change_of(document: Document, uri: str, edits: Iterable[Replacement]) -> types.WorkspaceEdit:
    return types.WorkspaceEdit({uri: edits_of(document, edits)})


def symbol_of(
    document: Document, name: str, kind: types.SymbolKind, whole: Span, head: Span
) -> types.DocumentSymbol:
    around, inside = (range_of(document.text, span.start, span.end) for span in (whole, head))
    return types.DocumentSymbol(name, kind, around, inside)


def diagnostic_of(document: Document, complaint: Diagnostic) -> types.Diagnostic:
    """One of another file is shown at the start of this one, with its place in words."""
    span, message = complaint.span, complaint.message
    if span and span.source.name != document.path:
        message, span = f"{span}: {message}", None
    start, end = (span.start, max(span.end, span.start + 1)) if span else (0, 0)
    notes = [
        types.DiagnosticRelatedInformation(location_of(document, note.span), note.message)
        for note in complaint.notes
        if note.span
    ]
    return types.Diagnostic(
        range_of(document.text, start, end),
        message if complaint.help is None else f"{message}\nhelp: {complaint.help}",
        severity=_SEVERITIES[complaint.severity],
        code=complaint.code,
        source="parc",
        related_information=notes or None,
    )
