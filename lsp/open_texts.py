"""Notifications of an editor -> the texts that it holds, each exactly as the editor has it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams

from ..dsl.diagnostics import one_line
from ..dsl.syntax.sources import with_line_feeds
from .positions import offset_of

#: pygls answers these too, into texts of its own, whose lines are those of `str.splitlines`.
HELD = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
)


class _Held(NamedTuple):
    """A text as the editor writes it, and in the form in which files are read, with each character at the
    same place: a line that ends with `\\r` ends with `\\n`, and a byte order mark is blank."""

    text: str
    version: int
    read: str


@dataclass
class OpenTexts:
    """The open documents by their URIs, which are written as the editor writes them."""

    _held: dict[str, _Held] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __contains__(self, uri: str) -> bool:
        return uri in self._held

    def open(self, item: types.TextDocumentItem) -> None:
        """Raises `JsonRpcInvalidParams` for a URI that is none."""
        path_of(item.uri)
        self._hold(item.uri, item.text, item.version)

    def change(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Iterable[types.TextDocumentContentChangeEvent],
    ) -> None:
        """Raises `JsonRpcInvalidParams` for a document that is not open."""
        if document.uri not in self._held:
            raise JsonRpcInvalidParams(f"`{one_line(document.uri)}` is not open")
        text = self._held[document.uri].text
        for change in changes:
            text = changed(text, change)
        self._hold(document.uri, text, document.version)

    def _hold(self, uri: str, text: str, version: int) -> None:
        read = " " + text[1:] if text.startswith("\ufeff") else text
        self._held[uri] = _Held(text, version, with_line_feeds(read))

    def close(self, uri: str) -> None:
        self._held.pop(uri, None)

    def version(self, uri: str) -> int:
        return self._held[uri].version

    def text(self, uri: str) -> str:
        """The text in the form in which files are read."""
        return self._held[uri].read

    def unsaved(self) -> dict[str, str]:
        """The texts by the real paths of their files; others may import them before they are saved."""
        return {os.path.realpath(path_of(uri)): held.read for uri, held in self._held.items()}


def path_of(uri: str) -> str:
    """Raises `JsonRpcInvalidParams` for a URI that is none."""
    try:
        return uris.to_fs_path(uri) or "job.par"
    except ValueError:
        raise JsonRpcInvalidParams(f"`{one_line(uri)}` is no URI") from None


def changed(text: str, change: types.TextDocumentContentChangeEvent) -> str:
    """A text after a change of a part of it, or of the whole."""
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return change.text
    ends = (change.range.start, change.range.end)
    start, end = sorted(offset_of(text, each.line, each.character) for each in ends)
    return text[:start] + change.text + text[end:]
