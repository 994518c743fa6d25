"""Golden files hold what parc says, not on which line of the standard library it found it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import parc
from parc.api import emit, plan_targets
from parc.dsl import JobError, library
from parc.dsl.library import StdEntry
from tests.support.command_line import without_library_lines
from tests.support.paths import CASES, GOLDEN, ROOT

ERRORS = CASES / "errors"
QUOTING = [path.stem for path in sorted(ERRORS.glob("*.txt")) if "std/" in path.read_text()]


@pytest.fixture
def library_moved_down(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every file of the standard library begins 999 lines lower, so line numbers get longer too."""
    entries = library._entries

    def lower(name: str, text: str) -> list[StdEntry]:
        return entries(name, "#\n" * 999 + text)

    monkeypatch.setattr(library, "_entries", lower)
    library._index.cache_clear()
    yield
    library._index.cache_clear()


def complaint(case: str) -> str:
    with pytest.raises(JobError) as error:
        parc.compile(parc.load(f"{case}.par"))
    return f"{error.value}\n"


@pytest.mark.parametrize("case", QUOTING)
def test_a_moved_library_changes_no_complaint(
    case: str, library_moved_down: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ERRORS)
    found, expected = complaint(case), (ERRORS / f"{case}.txt").read_text()
    assert found != expected, "the complaint quotes no line of the library"
    assert without_library_lines(found) == expected


def test_a_moved_library_changes_no_emitted_file(
    library_moved_down: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _, emitted = emit(plan_targets(parc.load("examples/gpt_125m.par")))
    golden = GOLDEN / "gpt_125m"
    assert all(text == (golden / name).read_text() for name, text in emitted.files.items())


def test_no_golden_names_a_line_of_the_library() -> None:
    shown = [
        *GOLDEN.rglob("*"),
        *CASES.rglob("*"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*.md"),
    ]
    named = re.compile(rb"std/\w+\.par:\d")
    assert QUOTING
    assert [path for path in shown if path.is_file() and named.search(path.read_bytes())] == []
