"""The grammars in editors/ have the words of the language, and colour a job as the parser reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from editors.grammars import FILES, FOLDER, SCOPES, textmate
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.pieces import pieces
from parc.dsl.highlighting.words import WORDS
from parc.dsl.syntax.parser import with_tokens
from tests.support.paths import ROOT

JOBS = sorted((ROOT / "examples").glob("*.par"))


@pytest.mark.parametrize("name", FILES)
def test_grammars_are_current(name: str, update: bool) -> None:
    path, wanted = FOLDER / name, FILES[name]()
    if update:
        path.write_text(wanted)
    assert path.read_text() == wanted


def test_every_word_is_in_one_group() -> None:
    words = [word for group in WORDS.values() for word in group]
    assert len(words) == len(set(words)) and WORDS.keys() == SCOPES.keys()


def coloured(line: str) -> list[tuple[str, str]]:
    """The words of a line with their scopes, the first rule that matches nearest wins, as TextMate has it."""
    rules = [
        (rule["name"], re.compile(rule.get("match") or r'"(\\.|[^"\\])*"'))
        for rule in json.loads(textmate())["patterns"]
    ]
    found, at = [], 0
    while at < len(line):
        hits = [
            (hit.start(), n, name, hit)
            for n, (name, rule) in enumerate(rules)
            if (hit := rule.search(line, at))
        ]
        if not hits:
            break
        _, _, name, hit = min(hits, key=lambda each: each[:2])
        found.append((name, hit[0]))
        at = max(hit.end(), at + 1)
    return found


def test_a_line_is_coloured() -> None:
    line = 'require memory <= 92 % and tp in {2, 4} : "a # b"  # why'
    names = {text: name for name, text in coloured(line)}
    assert names["require"] == SCOPES["clauses"][0] and names["memory"] == SCOPES["quantities"][0]
    assert names["92 %"] == names["4"] == "constant.numeric.parc"
    assert names["tp"] == SCOPES["decisions"][0] and names["in"] == SCOPES["operators"][0]
    assert names['"a # b"'] == "string.quoted.double.parc"
    assert names["# why"] == "comment.line.number-sign.parc"


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_numbers_and_texts_are_those_of_the_parser(path: Path) -> None:
    text = path.read_text()
    tree = with_tokens(Source("job.par", text))[2]
    assert tree is not None
    said = {piece.text for piece in pieces(tree, text) if piece.type in ("NUMBER", "STRING")}
    scopes = ("constant.numeric.parc", "string.quoted.double.parc")
    shown = {word for line in text.split("\n") for name, word in coloured(line) if name in scopes}
    assert said == shown
