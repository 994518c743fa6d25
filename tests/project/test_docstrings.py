"""Docstrings stand alone: none needs the one above it, or the name that it describes, to be understood."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

#: Packages whose docstrings have all been read; others join when theirs have.
STAND_ALONE = (
    "dsl",
    "compiler",
    "cli",
    "calibrate",
    "smoke",
    "lsp",
    "report",
    "serve",
    "reading",
)
_LEANING = re.compile(r"(?:Those|That|The same|Of|What|So)\b")


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstring of a module and of all that it defines, each with its line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


@pytest.mark.parametrize("package", STAND_ALONE)
def test_no_docstring_begins_with_a_word_that_leans_on_another_text(package: str) -> None:
    read = [
        (f"{path.relative_to(ROOT)}:{line}", text)
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in docstrings(path)
    ]
    assert len(read) > 10
    assert [f"{place}: {text[:60]}" for place, text in read if _LEANING.match(text)] == []
