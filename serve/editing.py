"""A text in the page's editor and a place in it -> complaints, words, meanings, in JSON.

Places are counted as JavaScript counts them, in units of UTF-16.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dsl.diagnostics import Diagnostic, Span
from ..lsp.completions import completions
from ..lsp.document import Document
from ..lsp.edits import cures, format_edits
from ..lsp.meanings import meaning
from ..lsp.places import place_at


def units(text: str, offset: int) -> int:
    """A character of a text -> its place in units of UTF-16."""
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def character(text: str, place: int) -> int:
    """The character at a place in units of UTF-16; the last one where the text is shorter."""
    if text.isascii():
        return min(place, len(text))
    offset = 0
    while place > 0 and offset < len(text):
        place -= 2 if text[offset] > "\uffff" else 1
        offset += 1
    return offset


def place_json(text: str, start: int, end: int) -> dict[str, int]:
    return {"from": units(text, start), "to": units(text, end)}


def complaint_json(document: Document, complaint: Diagnostic) -> dict[str, object]:
    """One of another file, or of none, is shown at the start of the text, with its place in words."""
    span, message = complaint.span, complaint.message
    if span and span.source.name != document.path:
        message, span = f"{span}: {message}", None
    edits = cures(complaint, document.path)
    return {
        **_span_json(document.text, span),
        "severity": complaint.severity,
        "code": complaint.code,
        "message": message,
        "help": complaint.help,
        "notes": [_note(note.message, note.span) for note in complaint.notes],
        "edits": [
            {**place_json(document.text, edit.start, edit.end), "text": edit.text} for edit in edits
        ],
    }


def complaints_json(document: Document, found: Sequence[Diagnostic]) -> list[dict[str, object]]:
    return [complaint_json(document, each) for each in found]


def _span_json(text: str, span: Span | None) -> dict[str, int]:
    """At least a character, so that there is something to underline."""
    if span is None:
        return {"from": 0, "to": min(1, len(text))}
    return place_json(text, span.start, max(span.end, span.start + 1))


def _note(message: str, span: Span | None) -> str:
    return f"{message} (line {span.line})" if span else message


def completions_json(document: Document, place: int) -> list[dict[str, str]]:
    """The words that may stand at a place."""
    offers = completions(document, character(document.text, place))
    return [
        {"word": each.word, "kind": each.kind, "note": each.note, "text": each.text}
        for each in offers
    ]


def meaning_json(document: Document, place: int) -> dict[str, object] | None:
    """The meaning of a word, as Markdown, and where the word stands."""
    found = place_at(document.file, character(document.text, place))
    text = meaning(document, found) if found else None
    if found is None or text is None:
        return None
    return {**place_json(document.text, found.span.start, found.span.end), "text": text}


def formatted_text(document: Document) -> str:
    """The text in its canonical form; as it is where it has syntax errors."""
    edits = format_edits(document)
    return edits[0].text if edits else document.text
