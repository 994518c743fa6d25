"""The stored tables of the parser are those of the grammar, and without them it is read as well."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import lark
import pytest

import parc.dsl.syntax
from parc.dsl.syntax import tables
from parc.dsl.syntax.parser import Lines
from tests.support.paths import ROOT

STORED = Path(parc.dsl.syntax.__file__).parent / tables.FILE
TEXTS = sorted([*(ROOT / "examples").glob("*.par"), *(ROOT / "dsl" / "std").glob("*.par")])


def built_as(monkeypatch: pytest.MonkeyPatch, release: str) -> lark.Lark:
    monkeypatch.setattr(lark, "__version__", release)
    return tables.parser(Lines())


def test_the_tables_are_of_the_grammar(update: bool) -> None:
    if update and json.loads(STORED.read_text())["grammar"] != tables.grammar():
        STORED.write_text(tables.text(Lines()))
    stored = json.loads(STORED.read_text())
    assert stored["grammar"] == tables.grammar(), "write them with pytest --update"


def test_stored_and_new_tables_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    release = json.loads(STORED.read_text())["release"]
    stored, new = built_as(monkeypatch, release), built_as(monkeypatch, "0")
    assert stored.source_path != new.source_path
    for path in TEXTS:
        text = path.read_text()
        assert stored.parse(text) == new.parse(text), path.name


def test_the_file_is_in_the_package() -> None:
    assert resources.files(parc.dsl.syntax).joinpath(tables.FILE).is_file()
