"""The lexer of Pygments splits a job as the parser does, and is where Pygments looks for it."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

from parc.dsl.diagnostics import Source
from parc.dsl.formatting.pieces import pieces
from parc.dsl.highlighting.pygments_lexer import TOKENS, ParcLexer
from parc.dsl.highlighting.words import WORDS
from parc.dsl.syntax.parser import with_tokens
from tests.support.drawn_sizes import drawn
from tests.support.paths import ROOT

JOBS = sorted([*(ROOT / "examples").glob("*.par"), *(ROOT / "dsl" / "std").glob("*.par")])
#: Terminals of the grammar, and the tokens that they may be.
KINDS = {"NUMBER": (Number,), "STRING": (String,), "NAME": (Name, Keyword, Operator.Word)}
KINDS |= dict.fromkeys(("IMPORT", "LET", "FROM"), (Keyword.Namespace,))
KINDS |= dict.fromkeys(("AND", "OR", "NOT", "IN"), (Operator.Word,))
KINDS |= dict.fromkeys(("COMPARE", "POWER", "SCALE", "PLUS", "MINUS", "EQUAL"), (Operator,))


def split(text: str) -> dict[int, tuple[object, str]]:
    """Each token but blanks by where it begins."""
    tokens = ParcLexer().get_tokens_unprocessed(text)
    return {at: (kind, word) for at, kind, word in tokens if not word.isspace()}


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_tokens_are_those_of_the_parser(path: Path) -> None:
    text = path.read_text()
    tree = with_tokens(Source(path.name, text))[2]
    assert tree is not None
    coloured = split(text)
    for token in tree.scan_values(lambda each: each.type != "_SEP"):  # type: ignore[union-attr]
        kind, word = coloured.pop(token.start_pos or 0)
        assert word == token
        assert token.type not in KINDS or any(kind in each for each in KINDS[token.type]), token
    comments = [each.text for piece in pieces(tree, text) for each in piece.comments]
    assert sorted(comments) == sorted(word for kind, word in coloured.values() if word != ";")
    assert {kind for kind, word in coloured.values() if word != ";"} <= {Comment.Single}


def test_each_word_has_the_token_of_its_group() -> None:
    assert TOKENS.keys() == WORDS.keys()
    for group, words in WORDS.items():
        assert {split(word)[0] for word in words} == {(TOKENS[group], word) for word in words}


def test_a_word_of_the_language_in_another_place_is_a_name() -> None:
    kinds = {word: kind for kind, word in split("memory = 80 GiB; tpu; a.tp; x = tp").values()}
    assert kinds["memory"] == kinds["x"] == Name.Attribute
    assert kinds["tpu"] == kinds["a.tp"] == Name
    assert kinds["tp"] == Name.Variable


@given(st.text(alphabet='aet._ \n\t"#\\{}=<>*/%12\u00b5\ufeff', max_size=40))
@settings(max_examples=drawn(70, 800))
def test_any_text_is_given_back_whole(text: str) -> None:
    assert "".join(word for _, _, word in ParcLexer().get_tokens_unprocessed(text)) == text


def test_what_no_job_may_hold_is_an_error() -> None:
    assert split("@")[0] == (Error, "@")


def test_pygments_finds_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ((name, place),) = project["entry-points"]["pygments.lexers"].items()
    assert EntryPoint(name, place, "pygments.lexers").load() is ParcLexer
    assert (ParcLexer.aliases, ParcLexer.filenames) == (("parc",), ("*.par",))
