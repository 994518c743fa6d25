"""Texts on which a careless pattern, or counting from the start, takes the square of their length."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest

from parc.lsp.completions import completions
from parc.lsp.document import Document
from parc.lsp.edits import format_edits
from parc.lsp.hints import hints
from parc.lsp.meanings import definition, meaning
from parc.lsp.places import place_at, places
from parc.lsp.positions import offset_of, position_of
from parc.lsp.renaming import uses

LENGTH = 30_000
#: What no request may take of a processor; on a text that takes the square of its length it would be minutes.
SECONDS = 2.0
#: A start and what is repeated behind it, and what stands at the end.
TEXTS: Mapping[str, tuple[str, str, str]] = {
    "one word before a brace": ("", "a", "! {"),
    "one word on the line before": ("", "a", "\n{"),
    "words before a brace": ("", "a ", "! {"),
    "one name": ("model ", "a", "! {"),
    "bases": ("model m ", "from ", "! {"),
    "a long base": ("model m from ", "a.", "! {"),
    "open braces": ("", "{", ""),
    "open blocks": ("", "m {", ""),
    "open blocks on lines": ("", "model m {\n", ""),
    "closed blocks": ("", "model m {}\n", ""),
    "quotes": ("", '"', "x"),
    "a text without an end": ('let a = "', "\\", ""),
    "marks of comments": ("", "#", '"'),
    "comments and quotes": ("", '#"', "x"),
    "equal signs": ("train { ", "a=", "!"),
    "ends of settings": ("train { ", ";", "!"),
    "hyphens": ("train { ", "-", "!"),
    "quantities": ("goal { require ", "recompute ", ";"),
    "reasons": ("goal {", " tp:", "!"),
    "a long line of pairs": ("# ", "\U0001f680", "\nlet a = b"),
    "pairs between names": ("let a = 1 # ", '"\U0001f680" a ', ""),
    "a sum of names": ("let a = 1\nlet b = ", "a+", "a"),
    "carriage returns": ("", "\r", "let"),
    "line separators": ("# ", "\u2028", "\nlet a = b"),
}


def near(document: Document) -> None:
    """What hover, definition and references do of a word in the middle."""
    place = place_at(document.file, len(document.text) // 2) or next(places(document.file), None)
    if place is not None:
        meaning(document, place)
        definition(document, place)
        uses(document, place, [document])


def placed(document: Document) -> None:
    """What every answer with many ranges does, as symbols and hints do."""
    for offset in range(0, len(document.text), 3):
        line, column = position_of(document.text, offset)
        assert offset_of(document.text, line, column) <= offset


REQUESTS: Mapping[str, Callable[[Document], object]] = {
    "complete": lambda document: completions(document, len(document.text)),
    "hints": hints,
    "near": near,
    "format": format_edits,
    "placed": placed,
}


@pytest.mark.parametrize("name", TEXTS)
def test_no_request_takes_the_square_of_the_length(name: str) -> None:
    start, repeated, end = TEXTS[name]
    text = start + repeated * (LENGTH // len(repeated)) + end
    for request in REQUESTS.values():
        document = Document("/jobs/job.par", text)
        began = time.process_time()
        request(document)
        assert time.process_time() - began < SECONDS, request


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("train { ", "seq_len"),
        ("  train\t{ ", "seq_len"),
        ("model m from std.llama3_8b { ", "layers"),
        ("model from std.llama3_8b { ", "layers"),
        ("let a = 1; train { ", "seq_len"),
        ("target megatron { ", "data"),
        ("model m {}\ntrain {\n  seq_len = 8\n  ", "global_batch"),
        ('goal { require memory <= 1 : "x"; require recompute == ', "selective"),
    ],
)
def test_the_block_around_a_place_is_found(before: str, wanted: str) -> None:
    offered = completions(Document("/jobs/job.par", before), len(before))
    assert wanted in {each.word for each in offered}


def test_a_decision_of_another_condition_offers_no_words() -> None:
    before = 'goal { require recompute == full : "x"; require '
    offered = completions(Document("/jobs/job.par", before), len(before))
    assert "selective" not in {each.word for each in offered}
