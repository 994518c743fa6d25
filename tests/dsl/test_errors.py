"""Every wrong job is answered with exactly the complaints beside it: `cases/errors/x.par` and `x.txt`."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

import parc
from parc.dsl import JobError, load, loads
from parc.dsl.codes import CODES
from parc.dsl.diagnostics import Diagnostic, Note, Source, Span
from tests.support.command_line import without_library_lines
from tests.support.paths import CASES, ROOT

FOLDER = CASES / "errors"
LENGTH = 100_000
PLACES = (
    "model m {{ layers = {} }}\n",
    "{} model m {{ layers = 2 }}\n",
    "goal {{ require tp < {} }}\n",
)


def complaints(path: str) -> str:
    """What the front door says of a job, from reading it to finding its layouts; nothing if it is sound."""
    try:
        parc.compile(parc.load(path))
    except JobError as error:
        assert all(diagnostic.code in str(error) for diagnostic in error.diagnostics)
        return f"{error}\n"
    return ""


@pytest.mark.parametrize("case", sorted(FOLDER.glob("*.par")), ids=lambda path: path.stem)
def test_case(case: Path, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    found = without_library_lines(complaints(case.name))
    assert found, "the job is sound"
    expected = case.with_suffix(".txt")
    if update:
        expected.write_text(found)
    assert found == expected.read_text()


def test_every_text_belongs_to_a_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {
        path.stem for path in FOLDER.glob("*.par")
    }


def test_every_code_of_the_language_has_a_case() -> None:
    told = "\n".join(path.read_text() for path in FOLDER.glob("*.txt"))
    # --set, and a name without text: test_job_files.py; what `parc fmt` says: test_formatting.py, test_fmt.py
    elsewhere = {"PAR023", "PAR059", "PAR060", "PAR062"}
    assert {code for code in CODES if f"[{code}]" not in told} == elsewhere


def only(error: pytest.ExceptionInfo[JobError]) -> str:
    (diagnostic,) = error.value.diagnostics
    return f"{diagnostic.code} {diagnostic.message}"


def test_a_complaint_holds_nothing_that_a_terminal_would_obey() -> None:
    """Whatever the job, its name or a help quotes; its lines are those of the complaint alone."""
    job = Path("examples/gpt_125m.par")
    told = "\x1b[2J\n\rerror[PAR000]: x\x07\x9b\u202e"
    with pytest.raises(JobError) as error:
        load(ROOT / job, [f'target.torchtitan.data="{told}"', f"{told}=1", f"train.{told}=2"])
    for diagnostic in error.value.diagnostics:
        lines = str(diagnostic).split("\n")
        assert all(line.isprintable() for line in lines)
        assert sum(line.startswith("error[") for line in lines) == 1
    quoting = Diagnostic("PAR011", told, Span(Source(told, told), 0, 4), help=told)
    quoting = replace(quoting, notes=(Note(told, quoting.span),))
    assert all(line.isprintable() for line in str(quoting).split("\n"))
    assert len(str(quoting).split("\n")) == 11


def test_a_large_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.par"
    path.write_bytes(b"let a = 1\n" * 1024 * 1024)
    began = time.process_time()
    with pytest.raises(JobError) as error:
        load(path)
    assert only(error).startswith("PAR004") and "10,485,760 bytes" in only(error)
    with pytest.raises(JobError) as error:
        loads("let a = 1\n" * 1024 * 1024)
    assert only(error).startswith("PAR004")
    assert time.process_time() - began < 2


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(JobError) as error:
        load("/dev/zero")
    assert only(error) == "PAR002 `/dev/zero` is not a regular file"


@pytest.mark.parametrize("name", ["none.par", ".", "job.par/inner", "a\0b.par", "x" * 5000])
def test_a_file_that_cannot_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.par").write_text("")
    with pytest.raises(JobError) as error:
        load(name)
    assert only(error).startswith("PAR002")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text("")
    path.chmod(0)
    with pytest.raises(JobError) as error:
        load(path)
    assert only(error).startswith("PAR002")


def test_a_long_chain_of_imports_ends(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number}.par").write_text(f'import "{number + 1}.par"\n')
    with pytest.raises(JobError) as error:
        load(tmp_path / "0.par")
    assert [diagnostic.code for diagnostic in error.value.diagnostics] == ["PAR004"]


N = 40_000
LARGE = {
    "calls for nothing": "let = 1 + (\n" * (N // 10),
    "open": "let a = " + "(" * N,
    "quotes": '"\n' * N,
    "sum": "let a = " + "1+" * N + "1",
    "set": "let a = {" + "1," * N + "}",
    "same": "let a = 1\n" * (N // 10),
    "unknown": "".join(f"let a{n} = b{n}\n" for n in range(N // 16)),
    "circles": "".join(f"let a{n} = a{n + 1}\nlet b{n} = b{n}\n" for n in range(N // 30)),
    "one circle": "".join(f"let a{n} = a{(n + 1) % 2000}\n" for n in range(2000)),
    "blocks": "modle { }\n" * (N // 10),
    "units": "let a = 1 gb gb gb\n" * (N // 16),
    "words": "let a = 1 " + "a " * N,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_large_wrong_file_is_answered_soon(text: str) -> None:
    began = time.process_time()
    with pytest.raises(JobError) as error:
        loads(text)
    assert 1 <= len(error.value.diagnostics) <= 101
    assert len(str(error.value)) < 60_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize("text", ["", "\n", "a", "a\r\nb\n\nc", "a\n\u2028b\n", "\n\n x"])
def test_lines_of_a_text(text: str) -> None:
    source = Source("job.par", text)
    for place in range(len(text) + 1):
        assert Span(source, place, place).line == text.count("\n", 0, place) + 1
    lines = [line.rstrip("\r") for line in text.split("\n")]
    assert [source.line(number) for number in range(1, len(lines) + 2)] == [*lines, ""]


@pytest.mark.parametrize("piece", ["9", "a-", "1,", "a ", "8 8", "is ", "1 to ", " ", "0x", "("])
@pytest.mark.parametrize("place", PLACES)
def test_a_long_line_is_soon_refused(place: str, piece: str) -> None:
    """No cure is sought in a line of tens of thousands of characters."""
    text = place.format(piece * (LENGTH // len(piece)))
    started = time.process_time()
    with pytest.raises(JobError):
        loads(text, "job.par")
    assert time.process_time() - started < 5
