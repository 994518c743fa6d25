"""Docstrings stand alone: none needs the one above it, or the name that it describes, to be understood."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.test_packaging import ROOMS
from tests.support.paths import ROOT

_LEANING = re.compile(r"(?:Those|That|The same|Of|What|So)\b")


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstring of a module and of all that it defines, each with its line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


@pytest.mark.parametrize("room", [*ROOMS.values(), "docs", "editors", "benchmarks"])
def test_no_docstring_begins_with_a_word_that_leans_on_another_text(room: str) -> None:
    paths = sorted((ROOT / room).rglob("*.py"))
    assert paths
    leaning = [
        f"{path.relative_to(ROOT)}:{line}: {text[:60]}"
        for path in paths
        for line, text in docstrings(path)
        if _LEANING.match(text)
    ]
    assert leaning == []
