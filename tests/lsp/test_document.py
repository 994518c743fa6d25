"""What the server answers with, without a server: complaints in time, cures as edits, places in UTF-16."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from parc.__main__ import OBJECTS, main
from parc.checking import checked
from parc.dsl.diagnostics import Diagnostic, Source, Span, replaced
from parc.dsl.syntax import parser
from parc.lsp.completions import completions
from parc.lsp.document import Document
from parc.lsp.edits import Replacement, cures, format_edits
from parc.lsp.hints import hints
from parc.lsp.meanings import definition, meaning
from parc.lsp.places import place_at
from parc.lsp.positions import offset_of, position_of
from parc.lsp.renaming import rename_edits
from tests.support.drawn_sizes import drawn
from tests.support.paths import ROOT
from tests.support.protocol_text import ProtocolText

QUICK = settings(max_examples=drawn(40, 400))
EXAMPLE = (ROOT / "examples" / "llama3_70b.par").read_text()


@given(st.text(alphabet="a\n\r\U0001f680\u00e9\u2028\u2029\x85\x0b\x0c\x1c", max_size=30))
@QUICK
def test_places_and_characters_agree(text: str) -> None:
    model = ProtocolText.of(text)
    for offset in range(len(text) + 1):
        line, column = position_of(text, offset)
        within = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
        assert offset_of(text, line, column) == offset - within
        assert (
            model.place(types.Position(line, column))
            == len(text[: offset - within].encode("utf-16-le")) // 2
        )


def test_a_job_of_300_lines_is_judged_as_it_is_typed() -> None:
    lets = "".join(f"let constant_{n} = constant_{n - 1} + {n}\n" for n in range(1, 270))
    text = f"{EXAMPLE}let constant_0 = pods\n{lets}"
    assert text.count("\n") >= 300
    seconds = []
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS)
    try:
        for typed in range(21):
            began = time.process_time()
            typing = f"{text}let typed = constant_269 + {typed}\n"
            (unused,) = checked("/job.par", text=typing).diagnostics
            seconds.append(time.process_time() - began)
            assert unused.message == "`typed` is never used"
    finally:
        gc.set_threshold(*before)
    # 21 ms by itself; machines that others load take twice as long.
    assert statistics.median(seconds) < 0.15


def test_a_version_of_a_text_is_parsed_once() -> None:
    """By its complaints, and by all that an editor then asks of it."""
    text = f"{EXAMPLE}# {test_a_version_of_a_text_is_parsed_once.__name__}\n"
    before = parser._parsed.cache_info().misses
    checked("/job.par", text=text)
    for asked in ("seq_len", "pods", "nodes"):
        document = Document("/job.par", text)
        place = place_at(document.file, text.index(asked) + 1)
        assert place and meaning(document, place)
        assert hints(document)
        rename_edits(document, place, "other", [document])
    assert parser._parsed.cache_info().misses == before + 1


@pytest.mark.parametrize("cut", range(0, len(EXAMPLE), 37))
def test_every_beginning_of_a_job_has_an_answer(cut: int) -> None:
    document = Document("/job.par", EXAMPLE[:cut])
    place = place_at(document.file, cut)
    if place:
        assert document.text[place.span.start : place.span.end].strip('"') == place.word
        assert meaning(document, place) != ""
        found = definition(document, place)
        assert found is None or found.start <= found.end
    assert all(offer.word for offer in completions(document, cut))
    assert all(each.end <= cut for each in format_edits(document))


def test_a_cure_is_a_set_of_edits_of_its_own_file() -> None:
    document = Document("/job.par", "let a = b\n")
    here, there = (Span(Source(name, document.text), 8, 9) for name in ("/job.par", "/other.par"))
    complaint = Diagnostic("PAR011", "unknown name `b`", here)
    assert cures(complaint, document.path) == []
    for span, wanted in ((here, [Replacement(8, 9, "1")]), (there, [])):
        assert cures(replace(complaint, fix=replaced(span, "1")), document.path) == wanted


def test_the_server_ends_with_its_editor() -> None:
    command = [sys.executable, "-m", "parc", "lsp"]
    ran = subprocess.run(command, input=b"", capture_output=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, b"") and b"PAR086" not in ran.stderr


def test_without_its_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "parc.lsp.server", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["lsp"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error[PAR061]: `parc lsp` needs `lsprotocol`\n") and "[lsp]" in said
