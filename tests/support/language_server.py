"""What a client of `parc lsp` does in many tests: opens a text, and applies the edits of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pytest_lsp import LanguageClient

from tests.support.protocol_text import ProtocolText


async def show(client: LanguageClient, text: str, uri: str) -> list[types.Diagnostic]:
    """Opens a text; what the server says of it."""
    item = types.TextDocumentItem(uri, "par", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return list(client.diagnostics[uri])


def at(text: str, word: str, after: int = 0) -> types.Position:
    """Right behind the first letter of the first `word` behind a number of characters."""
    start = text.index(word, after) + 1
    return ProtocolText.of(text).position(len(ProtocolText.of(text[:start]).units))


def edited(text: str, edits: Sequence[types.TextEdit | types.AnnotatedTextEdit]) -> str:
    """A text after edits that do not overlap."""
    return ProtocolText.of(text).edited(edits)
