"""The canonical form: the pairs of cases/formatting, and what holds of every job, however it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from parc.dsl.diagnostics import JobError, Source
from parc.dsl.formatting import canonical
from parc.dsl.formatting.canonical import formatted
from parc.dsl.formatting.columns import text_of
from parc.dsl.formatting.unchanged import comments, same
from parc.dsl.syntax.parser import parse
from tests.support.drawn_sizes import drawn
from tests.support.fences import fences
from tests.support.paths import CASES, ROOT
from tests.support.unformatted_jobs import job_texts

FOLDER = CASES / "formatting"
JOBS = [path for room in ("examples", "dsl/std") for path in sorted((ROOT / room).rglob("*.par"))]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
QUICK = settings(max_examples=drawn(40, 400), suppress_health_check=list(HealthCheck))


def form(text: str) -> str:
    return formatted(Source("job.par", text))


def same_trees(one: str, other: str) -> bool:
    trees = [parse(Source("job.par", text)) for text in (one, other)]
    assert [complaints for _, complaints in trees] == [[], []]
    return same(trees[0][0], trees[1][0])


@pytest.mark.parametrize("case", sorted(FOLDER.glob("*.par")), ids=lambda path: path.stem)
def test_case(case: Path, update: bool) -> None:
    found = form(case.read_text())
    expected = case.with_suffix(".txt")
    if update:
        expected.write_text(found)
    assert found == expected.read_text() == form(found)
    assert same_trees(case.read_text(), found)


@given(job_texts())
@QUICK
def test_the_form_says_the_same_and_is_its_own_form(text: str) -> None:
    once = form(text)
    assert form(once) == once
    assert comments(once) == comments(text)
    assert same_trees(text, once)
    assert not re.search(r"[ \t]\r?\n|\n\r?\n\r?\n|\A\s", once)


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_our_own_jobs_are_formatted(path: Path) -> None:
    assert form(path.read_text()) == path.read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_jobs_in_documents_are_formatted(path: Path) -> None:
    blocks = [fence.text for fence in fences(path.read_text()) if fence.language == "par"]
    assert [form(block) for block in blocks] == blocks


@pytest.mark.parametrize(
    "path", sorted((CASES / "errors").glob("*.par")), ids=lambda path: path.stem
)
def test_wrong_jobs_have_a_form_unless_their_syntax_is_wrong(path: Path) -> None:
    text = path.read_text(errors="replace")
    if parse(Source(path.name, text))[1]:
        with pytest.raises(JobError):
            form(text)
    else:
        assert same_trees(text, form(text)) and form(form(text)) == form(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("\n\n", ""),
        (" # alone", "# alone\n"),
        ("let a=1;let b=2", "let a = 1\nlet b = 2\n"),
        ("let a=1 # one\r\n\r\n\r\nlet b=2", "let a = 1  # one\r\n\r\nlet b = 2\r\n"),
        ("model{\n\n\n}", "model {}\n"),
        ("model{# why\n}", "model {  # why\n}\n"),
        ("let a=(4\n% b)", "let a = (4 % b)\n"),
    ],
)
def test_small_texts(text: str, wanted: str) -> None:
    assert form(text) == wanted


def test_deep_brackets_are_no_trouble() -> None:
    text = f"let a = {'(' * 2_000}1{')' * 2_000}\n"
    once = form(text)
    assert same_trees(text, once)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda text: text.replace("8192", "8193"), id="another value"),
        pytest.param(lambda text: text.replace("# why", "#"), id="a lost comment"),
        pytest.param(lambda text: text.replace("}", ""), id="no syntax"),
        pytest.param(lambda text: text.replace("80 GiB", "81 GiB"), id="another amount"),
    ],
)
def test_a_form_that_says_something_else_is_refused(
    broken: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical, "text_of", lambda lines: broken(text_of(lines)))
    with pytest.raises(JobError) as error:
        form("train { seq_len = 8192; memory = 80GiB } # why\n")
    assert [found.code for found in error.value.diagnostics] == ["PAR062"]


def test_ten_thousand_lines_take_less_than_two_seconds() -> None:
    library = "".join(path.read_text() for path in JOBS if path.parent.name == "std")
    text = library * (10_000 // library.count("\n") + 1)
    assert text.count("\n") >= 10_000
    form(library)
    began = time.process_time()
    assert form(text).count("\n") > 9_000
    # 1.2 s by itself; machines that others load take twice as long.
    assert time.process_time() - began < 4
