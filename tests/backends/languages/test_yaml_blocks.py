"""Texts of several lines in YAML are written as the library writes them, character by character."""

from __future__ import annotations

import random

import pytest
import yaml as library

from parc.backends.languages import yaml

# Ordinary lines are drawn more often than what a block cannot hold.
PLAIN = ("a", "b: c", "- d", "# e", " ", "  ", "\n", "\n\n", "---", "'", '"', "\\")
PIECES = (*PLAIN, *PLAIN, *PLAIN, "\t", "é", "\x85", "\u2028")


def texts(dice: random.Random) -> list[str]:
    return ["".join(dice.choices(PIECES, k=dice.randint(1, 8))) for _ in range(40)]


@pytest.mark.parametrize("seed", range(25))
def test_blocks_are_those_of_the_library(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = texts(random.Random(seed))
    nested = {"texts": drawn, "deep": {"deeper": [{text: text} for text in drawn]}}
    documents = [{"text": text} for text in drawn] + [nested]
    assert sum(map(yaml._is_block, drawn)) >= 3
    written = str(yaml.documents(documents))
    monkeypatch.setattr(yaml, "_is_block", lambda text: False)
    assert written == str(yaml.documents(documents))
    assert list(library.load_all(written, library.CSafeLoader)) == documents
