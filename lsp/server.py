"""The Language Server Protocol: an editor's requests -> the other modules' answers in its terms."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from ..dsl.diagnostics import Diagnostic, one_line
from ..dsl.syntax.sources import reading_once
from ..dsl.syntax.tree import Block, Let
from .completions import completions
from .document import Document
from .edits import cures, format_edits
from .hints import hints
from .meanings import definition, meaning
from .open_texts import HELD, OpenTexts, path_of
from .places import Place, place_at
from .positions import position_of
from .protocol_types import (
    change_of,
    diagnostic_of,
    edits_of,
    location_of,
    offset_at,
    range_of,
    symbol_of,
)
from .renaming import (
    Refused,
    defined,
    document_at,
    job_files,
    refuse_library,
    rename_edits,
    uses,
)
from .solving import Solver
from .stdio import Fault, run

#: A path and a text -> what is wrong with it.
Judge: TypeAlias = Callable[[str, str], Sequence[Diagnostic]]

#: The command of a lens; its argument is the URI of an open document.
SOLVE = "parc.solve"

_ITEM_KINDS = {
    "block": types.CompletionItemKind.Keyword,
    "setting": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "name": types.CompletionItemKind.Variable,
    "library": types.CompletionItemKind.Module,
}


class _AtPosition(Protocol):
    """A request about a character of a document."""

    @property
    def text_document(self) -> types.TextDocumentIdentifier: ...

    @property
    def position(self) -> types.Position: ...


class JobServer(LanguageServer):
    """A server with what judges a text as it is typed, and what solves it when it is asked to."""

    def __init__(self, version: str, judge: Judge, solver: Solver) -> None:
        super().__init__("parc", version)
        self.judge, self.solver, self.texts = judge, solver, OpenTexts()


def serve(version: str, judge: Judge, solving: Sequence[str], fault: Fault) -> int:
    """Answers over standard input and output until the editor goes; `solving` is the command of `Solver`.

    Returns the exit status; `fault` reports what nothing expects.
    """
    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb") as requests,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers,
    ):
        return run(server_of(version, judge, Solver(solving)), requests, answers, fault)


def server_of(version: str, judge: Judge, solver: Solver) -> JobServer:
    """A server that knows every request below."""
    server = JobServer(version, judge, solver)
    for notification in HELD:
        del server.protocol.fm.builtin_features[notification]
    for request, answer in _ANSWERS.items():
        server.feature(request)(answer)
    options = types.CompletionOptions(trigger_characters=[".", "="])
    server.feature(types.TEXT_DOCUMENT_COMPLETION, options)(complete)
    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(code_actions)
    server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))(rename)
    server.command(SOLVE)(solve)
    return server


def opened(server: JobServer, params: types.DidOpenTextDocumentParams) -> None:
    server.texts.open(params.text_document)
    _publish(server, params.text_document.uri)


def changed(server: JobServer, params: types.DidChangeTextDocumentParams) -> None:
    server.texts.change(params.text_document, params.content_changes)
    server.solver.forget(params.text_document.uri)
    _publish(server, params.text_document.uri)


def closed(server: JobServer, params: types.DidCloseTextDocumentParams) -> None:
    server.texts.close(params.text_document.uri)
    server.solver.forget(params.text_document.uri)
    nothing = types.PublishDiagnosticsParams(params.text_document.uri, [])
    server.text_document_publish_diagnostics(nothing)


def _publish(server: JobServer, uri: str) -> None:
    document = _document(server, uri)
    found = [diagnostic_of(document, each) for each in _judged(server, document)]
    version = server.texts.version(uri)
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))


def _judged(server: JobServer, document: Document) -> Sequence[Diagnostic]:
    with reading_once(document.unsaved):
        return server.judge(document.path, document.text)


def hover(server: JobServer, params: types.HoverParams) -> types.Hover | None:
    document, place = _place(server, params)
    text = meaning(document, place) if place else None
    if place is None or text is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, range_of(document.text, place.span.start, place.span.end))


def complete(server: JobServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    document, offset = _offset(server, params)
    return [
        types.CompletionItem(
            label=offer.word,
            kind=_ITEM_KINDS[offer.kind],
            detail=offer.note or None,
            documentation=(
                types.MarkupContent(types.MarkupKind.Markdown, offer.text) if offer.text else None
            ),
        )
        for offer in completions(document, offset)
    ]


def define(server: JobServer, params: types.DefinitionParams) -> types.Location | None:
    document, place = _place(server, params)
    found = definition(document, place) if place else None
    return location_of(document, found) if found else None


def refer(server: JobServer, params: types.ReferenceParams) -> list[types.Location]:
    document, place = _place(server, params)
    found = uses(document, place, _workspace(server, document)) if place else []
    return [location_of(use.document, span) for use in found for span in use.spans]


def rename(server: JobServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    document, place = _place(server, params)
    if place is None:
        return None
    with _telling():
        edited = rename_edits(document, place, params.new_name, _workspace(server, document))
    uri_of = {path_of(uri): uri for uri in server.texts}
    changes = {
        uri_of.get(each.path) or uris.from_fs_path(each.path) or "": edits_of(each, edits)
        for each, edits in edited
    }
    return types.WorkspaceEdit(changes) if changes else None


def can_rename(server: JobServer, params: types.PrepareRenameParams) -> types.Range | None:
    document, place = _place(server, params)
    if place is None or defined(document, place) is None:
        return None
    with _telling():
        refuse_library(document, place)
    return range_of(document.text, place.span.start, place.span.end)


@contextmanager
def _telling() -> Iterator[None]:
    """Has the editor show why something is refused: the protocol's answer to a request that failed."""
    try:
        yield
    except Refused as refused:
        raise JsonRpcException(str(refused), types.LSPErrorCodes.RequestFailed) from None


def format(server: JobServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
    document = _document(server, params.text_document.uri)
    return edits_of(document, format_edits(document))


def symbols(server: JobServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    document = _document(server, params.text_document.uri)
    found = []
    for statement in document.file.statements:
        if isinstance(statement, Block):
            kind, name = types.SymbolKind.Class, " ".join(statement.head.text.split())
            found.append(symbol_of(document, name, kind, statement.span, statement.head))
        elif isinstance(statement, Let):
            name, kind = statement.name.name, types.SymbolKind.Constant
            found.append(symbol_of(document, name, kind, statement.span, statement.name.span))
    return found


def code_actions(server: JobServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The cures of the complaints that touch the range; those that `check --fix` makes are preferred."""
    uri = params.text_document.uri
    document = _document(server, uri)
    start, end = (offset_at(document.text, each) for each in (params.range.start, params.range.end))
    return [
        types.CodeAction(
            title=complaint.help or "mend it",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic_of(document, complaint)],
            edit=change_of(document, uri, edits),
            is_preferred=complaint.fix is not None and complaint.fix.safe,
        )
        for complaint in _judged(server, document)
        if (span := complaint.span) and span.start <= end and span.end >= start
        if (edits := cures(complaint, document.path))
    ]


def inlay_hints(server: JobServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    document = _document(server, params.text_document.uri)
    start, end = (offset_at(document.text, each) for each in (params.range.start, params.range.end))
    return [
        types.InlayHint(types.Position(*position_of(document.text, hint.offset)), hint.text)
        for hint in hints(document)
        if start <= hint.offset <= end
    ]


def lenses(server: JobServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """One above each target: what was found for it, or the word to solve it."""
    uri = params.text_document.uri
    document = _document(server, uri)
    return [
        types.CodeLens(
            range_of(document.text, block.head.start, block.head.end),
            types.Command(
                server.solver.line(uri, block.name.name, document.text), SOLVE, arguments=[uri]
            ),
        )
        for block in document.file.statements
        if isinstance(block, Block) and block.kind.name == "target" and block.name
    ]


async def solve(server: JobServer, uri: str | None = None) -> dict[str, str]:
    """Solves an open document; a line for each target, which its lens shows from then on."""
    if uri is None:
        raise JsonRpcInvalidParams(f"{SOLVE} takes the URI of an open document")
    document = _document(server, uri)
    solving = asyncio.ensure_future(server.solver.solve(uri, document.path, document.text))
    await asyncio.sleep(0)
    _refresh(server)
    found = await solving
    _refresh(server)
    return dict(found)


def _refresh(server: JobServer) -> None:
    """Has an editor that can do so ask for the lenses again."""
    workspace = server.client_capabilities.workspace
    if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
        server.workspace_code_lens_refresh(None)


#: Requests without options of their own, and what answers them.
_ANSWERS: dict[str, Callable[..., Any]] = {
    types.TEXT_DOCUMENT_DID_OPEN: opened,
    types.TEXT_DOCUMENT_DID_CHANGE: changed,
    types.TEXT_DOCUMENT_DID_CLOSE: closed,
    types.TEXT_DOCUMENT_HOVER: hover,
    types.TEXT_DOCUMENT_DEFINITION: define,
    types.TEXT_DOCUMENT_REFERENCES: refer,
    types.TEXT_DOCUMENT_PREPARE_RENAME: can_rename,
    types.TEXT_DOCUMENT_FORMATTING: format,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: symbols,
    types.TEXT_DOCUMENT_INLAY_HINT: inlay_hints,
    types.TEXT_DOCUMENT_CODE_LENS: lenses,
}


def _document(server: JobServer, uri: str) -> Document:
    """An open document, or a file as any command reads one."""
    if uri in server.texts:
        return Document(path_of(uri), server.texts.text(uri), server.texts.unsaved())
    found = document_at(path_of(uri), server.texts.unsaved())
    if found is None:
        message = f"parc cannot read `{one_line(uri)}`"
        raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed)
    return found


def _workspace(server: JobServer, asked: Document) -> list[Document]:
    """The open documents, and the job files below the folders that the editor has opened."""
    folders = (uris.to_fs_path(uri) for uri in server.workspace.folders)
    paths, all_of_them = job_files(folder for folder in folders if folder)
    if not all_of_them:
        message = "parc looks at open files and a part of the others: the folder has too many files"
        server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))
    found = (document_at(path, asked.unsaved) for path in dict.fromkeys((*asked.unsaved, *paths)))
    return [each for each in found if each is not None]


def _offset(server: JobServer, params: _AtPosition) -> tuple[Document, int]:
    document = _document(server, params.text_document.uri)
    return document, offset_at(document.text, params.position)


def _place(server: JobServer, params: _AtPosition) -> tuple[Document, Place | None]:
    document, offset = _offset(server, params)
    return document, place_at(document.file, offset)
