"""Edits of an editor, with every character that some library takes for the end of a line: after each the
server holds the text that the editor has, and every answer names the places that it means."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

from parc.dsl.diagnostics import Diagnostic, Source
from parc.dsl.formatting.canonical import formatted
from parc.lsp.open_texts import changed
from parc.lsp.server import server_of
from parc.lsp.solving import Solver
from parc.lsp.stdio import run
from tests.support.drawn_sizes import INPUTS
from tests.support.language_server import at, edited, show
from tests.support.protocol_text import ProtocolText

#: Sessions of an editor, and the edits of one.
SESSIONS = INPUTS // 6
EDITS = 30
#: What ends a line for `str.splitlines`, and for the protocol its first three.
ENDS = ("\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0c", "\x0b", "\x1c", "\x1d", "\x1e")
PIECES = (
    *ENDS,
    "a",
    "let b = 1",
    "# c",
    "{",
    "}",
    '"',
    " ",
    "\u00e9",
    "\U0001f680",
    "\U0010ffff",
    "\ufeff",
)
URI = "file:///jobs/a%20job.par"


def drawn(random_: random.Random, most: int) -> str:
    return "".join(random_.choice(PIECES) for _ in range(random_.randrange(most)))


def drawn_range(random_: random.Random, text: ProtocolText) -> types.Range:
    """Two places that are in no pair and in no end of a line, at times written as ones beyond it."""
    lines = text.lines()
    ends = []
    for _ in range(2):
        number = random_.randrange(len(lines))
        start, end = lines[number]
        unit = random_.randint(start, end)
        if unit < end and 0xDC00 <= text.units[unit] < 0xE000:
            unit += 1
        beyond = random_.choice((0, 0, 0, 1, 7, 2**31 - 1 - unit)) if unit == end else 0
        ends.append((number, unit - start + beyond))
        if random_.random() < 0.03:
            ends[-1] = (len(lines) + random_.randrange(3), random_.randrange(9))
    return types.Range(*(types.Position(*each) for each in sorted(ends)))


def drawn_session(seed: int) -> tuple[str, list[list[tuple[types.Range | None, str]]], list[str]]:
    """A text, the changes of each notification, and the text after each."""
    random_ = random.Random(seed)
    text = drawn(random_, 60)
    model, notified, after = ProtocolText.of(text), [], []
    for _ in range(EDITS):
        changes: list[tuple[types.Range | None, str]] = []
        for _ in range(random_.choice((1, 1, 1, 2, 3))):
            new = drawn(random_, 6)
            if random_.random() < 0.02:
                model, area = ProtocolText.of(new), None
            else:
                area = drawn_range(random_, model)
                model.edit(area, new)
            changes.append((area, new))
        notified.append(changes)
        after.append(model.text)
    return text, notified, after


def change_of(area: types.Range | None, text: str) -> types.TextDocumentContentChangeEvent:
    if area is None:
        return types.TextDocumentContentChangeWholeDocument(text)
    return types.TextDocumentContentChangePartial(area, text)


@pytest.mark.parametrize("seed", range(SESSIONS))
def test_each_edit_makes_the_text_that_the_editor_has(seed: int) -> None:
    text, notified, after = drawn_session(seed)
    for changes, wanted in zip(notified, after, strict=True):
        for area, new in changes:
            text = changed(text, change_of(area, new))
        assert text == wanted


def written(method: str, params: object, **more: object) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def places_json(area: types.Range) -> dict[str, object]:
    ends = {"start": area.start, "end": area.end}
    return {name: {"line": at.line, "character": at.character} for name, at in ends.items()}


@pytest.mark.parametrize("first", range(0, SESSIONS, 5))
def test_what_the_server_judges_is_what_the_editor_has(first: int) -> None:
    """Through all of the server, whose judge sees each text in the form in which files are read."""
    sent = [written("initialize", {"capabilities": {}}, id=1)]
    wanted = []
    for seed in range(first, first + 5):
        text, notified, after = drawn_session(seed)
        item = {"uri": URI, "languageId": "par", "version": 0, "text": text}
        sent.append(written("textDocument/didOpen", {"textDocument": item}))
        for version, changes in enumerate(notified, 1):
            params = {
                "textDocument": {"uri": URI, "version": version},
                "contentChanges": [
                    {"text": new, **({"range": places_json(area)} if area else {})}
                    for area, new in changes
                ],
            }
            sent.append(written("textDocument/didChange", params))
        wanted += [text, *after]
    seen: list[str] = []

    def judge(path: str, text: str) -> Sequence[Diagnostic]:
        assert path == "/jobs/a job.par"
        seen.append(text)
        return ()

    def fault(error: BaseException) -> str:
        raise error

    server = server_of("0", judge, Solver(()))
    assert run(server, io.BytesIO(b"".join(sent)), io.BytesIO(), fault) == 0
    assert seen == [as_read(text) for text in wanted]


class Answers(io.BytesIO):
    """What a server says, kept when it closes its output."""

    def close(self) -> None:
        pass


def test_columns_count_utf_16_whatever_an_editor_prefers() -> None:
    preferred = {"general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]}}
    answers = Answers()
    server = server_of("0", lambda path, text: (), Solver(()))
    run(server, io.BytesIO(written("initialize", {"capabilities": preferred}, id=1)), answers, repr)
    body = answers.getvalue().partition(b"\r\n\r\n")[2]
    assert json.loads(body)["result"]["capabilities"].get("positionEncoding", "utf-16") == "utf-16"


def as_read(text: str) -> str:
    """A text with the lines of the protocol, each character at its place."""
    blank = " " + text[1:] if text.startswith("\ufeff") else text
    return blank.replace("\r\n", "\0").replace("\r", "\n").replace("\0", "\r\n")


def units(text: str) -> int:
    return len(ProtocolText.of(text).units)


def sound(end: str) -> str:
    """A job whose comments hold an end of a line in all places."""
    marked = f"# a{end}b{end}{end} \U0001f680{end}\n" if end not in ("\n", "\r", "\r\n") else end
    lines = (
        'import "part.par"', "let pods = 2", "let more = pods * shared",
        "cluster pod from std.dgx_h100 { nodes = pods * 4 }", "model m from std.llama3_8b {}",
        "train { seq_lenn = 8192; global_batch = 64; steps = more }", "target megatron {}",
    )  # fmt: skip
    line = "\n" if len(marked) > 2 else end
    return marked + "".join(f"{each}  {marked.strip(line)}{line}{marked}" for each in lines)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.encode("unicode_escape").decode())
@pytest.mark.asyncio(loop_scope="module")
async def test_every_answer_names_its_places(
    client: LanguageClient, end: str, tmp_path: Path
) -> None:
    (tmp_path / "part.par").write_text("let shared = 3\n")
    text, uri = sound(end), (tmp_path / "the job.par").as_uri()
    document, model = types.TextDocumentIdentifier(uri), ProtocolText.of(text)
    (unknown,) = [each for each in await show(client, text, uri) if "seq_lenn" in each.message]
    assert model.stands_at(unknown.range) == "seq_lenn = 8192"

    context = types.CodeActionContext([unknown])
    asked = types.CodeActionParams(document, unknown.range, context)
    (action,) = await client.text_document_code_action_async(asked) or ()
    assert isinstance(action, types.CodeAction) and action.edit and action.edit.changes
    assert edited(text, action.edit.changes[uri]) == text.replace("seq_lenn", "seq_len")

    hovered = await client.text_document_hover_async(
        types.HoverParams(document, at(text, "std.dgx_h100"))
    )
    assert hovered and hovered.range and model.stands_at(hovered.range) == "std.dgx_h100"

    place = at(text, "pods *")
    defined = await client.text_document_definition_async(types.DefinitionParams(document, place))
    assert isinstance(defined, types.Location)
    assert (defined.uri, model.stands_at(defined.range)) == (
        uri,
        "pods",
    ) or "%20" not in defined.uri
    assert model.place(defined.range.start) == len(
        ProtocolText.of(text[: text.index("pods")]).units
    )

    renamed = await client.text_document_rename_async(types.RenameParams(document, place, "racks"))
    assert renamed and renamed.changes and list(renamed.changes) == [uri]
    assert edited(text, renamed.changes[uri]) == text.replace("pods", "racks")

    found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    heads = [each.selection_range for each in found or () if isinstance(each, types.DocumentSymbol)]
    assert [model.stands_at(each) for each in heads] == [
        "pods", "more", "cluster pod from std.dgx_h100", "model m from std.llama3_8b", "train",
        "target megatron",
    ]  # fmt: skip

    whole = types.Range(types.Position(0, 0), types.Position(10**6, 0))
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
    behind = {each.label: model.place(each.position) for each in hints or ()}
    assert behind[" = 6"] == units(text[: text.index("* shared") + len("* shared")])

    offered = await client.text_document_completion_async(
        types.CompletionParams(document, at(text, "seq_lenn"))
    )
    assert isinstance(offered, list) and "seq_len" in {each.label for each in offered}

    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    asked_form = types.DocumentFormattingParams(document, options)
    edits = await client.text_document_formatting_async(asked_form) or ()
    assert edited(text, edits) == formatted(Source("job.par", as_read(text)))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_byte_order_mark_moves_no_place(client: LanguageClient) -> None:
    text = "\ufefflet wrong = right\n"
    (found,) = [each for each in await show(client, text, URI) if "right" in each.message]
    assert ProtocolText.of(text).stands_at(found.range) == "right"
