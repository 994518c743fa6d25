"""`parc lsp`, asked by a client over standard input and output, as an editor asks it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient

from tests.support import language_server
from tests.support.language_server import at, edited
from tests.support.paths import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = """let pods = 2

cluster pod from std.dgx_h100 { nodes = pods * 4 }
model m from std.llama3_8b {}
gpu lean from h100_sxm { memory = 70 GiB }
train {
  seq_len = 8192; global_batch = 64
  steps = 1000
  precision = fp8
}
goal { maximize mfu; require tp <= pods }
target megatron {}
"""
URI = "file:///jobs/job.par"


async def show(client: LanguageClient, text: str, uri: str = URI) -> list[types.Diagnostic]:
    return await language_server.show(client, text, uri)


def written(text: str, area: types.Range) -> str:
    lines = text.split("\n")
    assert area.start.line == area.end.line
    return lines[area.start.line][area.start.character : area.end.character]


DOCUMENT = types.TextDocumentIdentifier(URI)


@pytest.mark.parametrize("name", ["pipe", "nowhere.par", "folder", "/proc/self/mem", "a\0b"])
async def test_what_is_not_open_is_read_as_any_command_reads(
    client: LanguageClient, name: str, tmp_path: Path
) -> None:
    """A pipe that nobody writes to would be waited for, and other requests with it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    uri = f"file://{quote(os.path.join(tmp_path, name))}"
    place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(2, 22))
    with pytest.raises(JsonRpcException, match="parc cannot read"):
        await asyncio.wait_for(client.text_document_hover_async(place), 20)
    (tmp_path / "job.par").write_text(JOB)
    place.text_document = types.TextDocumentIdentifier((tmp_path / "job.par").as_uri())
    assert await client.text_document_hover_async(place) is not None


async def test_complaints_come_as_a_job_is_typed(client: LanguageClient) -> None:
    assert await show(client, JOB) == []
    broken = JOB.replace("seq_len", "seq_lenn")
    change = types.TextDocumentContentChangeWholeDocument(broken)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, URI), [change])
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (unknown,) = client.diagnostics[URI]
    assert (unknown.code, unknown.severity) == ("PAR011", types.DiagnosticSeverity.Error)
    assert unknown.message == "unknown setting `seq_lenn` of `train`\nhelp: did you mean `seq_len`?"
    assert written(broken, unknown.range).startswith("seq_lenn = 8192")


async def test_warnings_come_as_parc_check_has_them(client: LanguageClient) -> None:
    line = "let racks = 4"
    (found,) = await show(client, f"{JOB}{line}\n")
    assert (found.code, found.severity) == ("PAR063", types.DiagnosticSeverity.Warning)
    assert found.message == "`racks` is never used\nhelp: use it, or take it out"
    assert found.range.start == types.Position(JOB.count("\n"), line.index("racks"))
    assert await show(client, f"{JOB}{line}  # parc: ignore[PAR063] for a later job\n") == []


async def test_syntax_errors_and_notes_have_their_places(client: LanguageClient) -> None:
    text = JOB + "train { steps = 3 }\nlet broken = \n"
    found = {each.code: each for each in await show(client, text)}
    assert found["PAR001"].range.start.line == JOB.count("\n") + 1
    notes = found["PAR015"].related_information or []
    assert [note.location.range.start.line for note in notes] == [5]


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("seq_len", "tokens in a sequence"),
        ("pods * 4", "= 2"),
        ("std.dgx_h100", "gpus_per_node"),
        ("std.llama3_8b", "layers"),
        ("h100_sxm {", "memory_bandwidth"),
        ("mfu", "share of peak that model FLOP reach"),
        ("tp <=", "tp"),
        ("precision", "`bf16`, `fp16`, `fp8`"),
    ],
)
async def test_hover_says_what_a_word_means(client: LanguageClient, word: str, wanted: str) -> None:
    await show(client, JOB)
    found = await client.text_document_hover_async(types.HoverParams(DOCUMENT, at(JOB, word)))
    assert found and isinstance(found.contents, types.MarkupContent)
    assert wanted in found.contents.value
    assert found.range and written(JOB, found.range) in word


async def test_hover_says_nothing_of_blank_places(client: LanguageClient) -> None:
    await show(client, JOB)
    place = types.HoverParams(DOCUMENT, types.Position(1, 0))
    assert await client.text_document_hover_async(place) is None


@pytest.mark.parametrize(
    ("before", "wanted", "unwanted"),
    [
        ("tr", {"train", "model", "let"}, {"seq_len", "tp"}),
        ("train { ", {"seq_len", "global_batch"}, {"layers", "train"}),
        ("train { precision = ", {"bf16", "nvfp4"}, {"seq_len"}),
        ("train {\n  compile =", {"true", "false"}, {"bf16"}),
        ("model m from std.", {"std.llama3_8b"}, {"std.dgx_h100", "std.h100_sxm"}),
        ("cluster c { gpu = ", {"std.h100_sxm"}, {"std.dgx_h100"}),
        ("let few = 3\ntrain { steps = f", {"few"}, {"std.h100_sxm"}),
        ("target ", {"megatron", "deepspeed", "torchtitan"}, {"slurm", "model"}),
        ("target megatron { ", {"data", "tokenizer"}, {"seq_len"}),
        ("goal {\n  ", {"maximize", "require"}, {"tp"}),
        ("goal {\n  require ", {"tp", "memory", "ceil"}, {"maximize"}),
        ("goal { require recompute == ", {"selective", "full"}, {"optimizer"}),
        ("# a comment ", set(), {"train"}),
        ('target megatron { data = "', set(), {"data"}),
    ],
)
async def test_completion_offers_what_may_stand_there(
    client: LanguageClient, before: str, wanted: set[str], unwanted: set[str]
) -> None:
    await show(client, before)
    lines = before.split("\n")
    end = types.Position(len(lines) - 1, len(lines[-1]))
    found = await client.text_document_completion_async(types.CompletionParams(DOCUMENT, end))
    assert isinstance(found, list)
    offered = {each.label for each in found}
    assert wanted <= offered and not unwanted & offered


async def test_definitions_are_found_here_in_imports_and_in_the_library(
    client: LanguageClient, tmp_path: Path
) -> None:
    (tmp_path / "parts.par").write_text("\nlet shared = 3\nmodel base from std.llama3_8b {}\n")
    text = (
        'import "parts.par"\nmodel mine from base {}\nlet more = shared\ngpu g from std.h200 {}\n'
    )
    path = tmp_path / "job.par"
    await show(client, text, path.as_uri())
    found = []
    for word in ("parts.par", "base {", "shared", "std.h200"):
        place = types.DefinitionParams(types.TextDocumentIdentifier(path.as_uri()), at(text, word))
        location = await client.text_document_definition_async(place)
        assert isinstance(location, types.Location)
        found.append((Path(location.uri).name, location.range.start.line))
    gpus = (ROOT / "dsl" / "std" / "gpus.par").read_text()
    line = gpus[: gpus.index("\ngpu h200 ") + 1].count("\n")
    assert found == [("parts.par", 0), ("parts.par", 2), ("parts.par", 1), ("gpus.par", line)]


async def test_formatting_gives_the_canonical_form(client: LanguageClient) -> None:
    await show(client, "let  a=1\n")
    options = types.FormattingOptions(tab_size=8, insert_spaces=True)
    params = types.DocumentFormattingParams(DOCUMENT, options)
    edits = await client.text_document_formatting_async(params)
    assert edits and [each.new_text for each in edits] == ["let a = 1\n"]
    for text in ("let a = 1\n", "let a = \n"):
        await show(client, text)
        assert not await client.text_document_formatting_async(params)


async def test_blocks_and_constants_are_symbols(client: LanguageClient) -> None:
    await show(client, JOB)
    found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(DOCUMENT))
    assert found and [each.name for each in found] == [
        "pods",
        "cluster pod from std.dgx_h100",
        "model m from std.llama3_8b",
        "gpu lean from h100_sxm",
        "train",
        "goal",
        "target megatron",
    ]


async def test_places_count_utf_16_units(client: LanguageClient) -> None:
    text = 'let a = "\U0001f680"; wrong = 3\n'
    (found,) = [each for each in await show(client, text) if "wrong" in each.message]
    assert (found.range.start.character, found.range.end.character) == (14, 23)


async def test_a_cure_is_an_action_that_mends_the_text(client: LanguageClient) -> None:
    text = JOB.replace("seq_len", "seq_lenn")
    found = await show(client, text)
    (wrong,) = [each for each in found if "seq_lenn" in each.message]
    params = types.CodeActionParams(DOCUMENT, wrong.range, types.CodeActionContext([wrong]))
    (action,) = await client.text_document_code_action_async(params) or ()
    assert isinstance(action, types.CodeAction) and action.edit and action.edit.changes
    assert action.title == "did you mean `seq_len`?" and action.kind == "quickfix"
    assert await show(client, edited(text, action.edit.changes[URI])) == []


async def test_a_complaint_without_a_cure_has_no_action(client: LanguageClient) -> None:
    (found,) = await show(client, JOB + "let a = b\n")
    context = types.CodeActionContext([found])
    params = types.CodeActionParams(DOCUMENT, found.range, context)
    actions = await client.text_document_code_action_async(params)
    assert not actions


async def test_changes_of_a_part_add_up(client: LanguageClient) -> None:
    """Each change is judged, with those before it; how fast is in test_document.py."""
    await show(client, JOB)
    for version in range(2, 8):
        change = types.TextDocumentContentChangePartial(
            types.Range(types.Position(0, 0), types.Position(0, 0)), "#"
        )
        document = types.VersionedTextDocumentIdentifier(version, URI)
        client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert any("pods" in each.message for each in client.diagnostics[URI])
