"""Inlay hints and the lens that solves, asked over standard input and output."""

from __future__ import annotations

import asyncio
import re

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

from tests.support import language_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = """let pods = 2
let racks = pods * 8

cluster pod from std.dgx_h100 { nodes = pods * 4; node_memory = 900 GiB }
model m from "meta-llama/Llama-3.1-8B" {}
train { seq_len = 8192; global_batch = racks * 4; steps = 1000 }
goal { require tp <= pods }
target megatron {}
"""
URI = "file:///jobs/hints.par"
DOCUMENT = types.TextDocumentIdentifier(URI)


async def show(client: LanguageClient, text: str) -> list[types.Diagnostic]:
    return await language_server.show(client, text, URI)


async def hinted(client: LanguageClient, text: str) -> str:
    """The text with its hints in brackets."""
    lines = text.split("\n")
    whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
    found = await client.text_document_inlay_hint_async(types.InlayHintParams(DOCUMENT, whole))
    for hint in reversed(found or []):
        line, at = lines[hint.position.line], hint.position.character
        lines[hint.position.line] = f"{line[:at]}[{hint.label}]{line[at:]}"
    return "\n".join(lines)


async def lens(client: LanguageClient) -> str:
    (found,) = await client.text_document_code_lens_async(types.CodeLensParams(DOCUMENT)) or []
    assert found.command and found.command.command == "parc.solve"
    return found.command.title


async def test_hints_say_what_the_text_does_not(client: LanguageClient) -> None:
    assert await show(client, JOB) == []
    shown = await hinted(client, JOB)
    assert "let pods = 2\n" in shown
    assert "let racks = pods * 8[ = 16]" in shown
    assert "nodes = pods * 4[ = 8][ 64 GPUs]" in shown
    assert "node_memory = 900 GiB[ = 966,367,641,600 B]" in shown
    assert 'Llama-3.1-8B"[ std.llama3_1_8b][ 8.03 B parameters] {}' in shown
    assert "seq_len = 8192; global_batch = racks * 4[ = 64]; steps = 1000 }" in shown
    assert "goal { require tp <= pods }\n" in shown


async def test_a_broken_job_keeps_the_hints_of_its_values(client: LanguageClient) -> None:
    text = JOB.replace("seq_len", "seq_lenn")
    assert await show(client, text)
    shown = await hinted(client, text)
    assert "pods * 8[ = 16]" in shown and "GPUs" not in shown and "parameters" not in shown


async def test_a_lens_solves_and_a_change_takes_its_answer_back(client: LanguageClient) -> None:
    assert await show(client, JOB) == []
    assert await lens(client) == "solve"
    ask = types.ExecuteCommandParams("parc.solve", [URI])
    answer = await client.workspace_execute_command_async(ask)
    assert await lens(client) == dict(answer or {})["megatron"]
    assert re.search(r"^dp \d+ .* — \d+% MFU, \d+ GiB$", await lens(client))
    running = asyncio.ensure_future(client.workspace_execute_command_async(ask))
    while await lens(client) != "solving ...":
        assert not running.done()
        await asyncio.sleep(0.01)
    change = types.TextDocumentContentChangeWholeDocument(JOB + "# more\n")
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, URI), [change])
    )
    assert not dict(await running or {})
    assert await lens(client) == "solve"


async def test_a_job_that_cannot_be_solved_says_why(client: LanguageClient) -> None:
    await show(client, JOB.replace("tp <= pods", "tp == 3"))
    ask = types.ExecuteCommandParams("parc.solve", [URI])
    await client.workspace_execute_command_async(ask)
    assert (await lens(client)).startswith("no layout: ")
