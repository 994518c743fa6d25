"""`parc fmt`, as it is called: what is written, what is printed, and what it answers to a pipeline."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Parc

UNTIDY = "train {\n  seq_len=8192 # tokens\n  global_batch = 64\n}\n"
TIDY = "train {\n  seq_len      = 8192  # tokens\n  global_batch = 64\n}\n"


@pytest.fixture(autouse=True)
def files(run: Parc) -> None:
    """In the folder of a test: one file of each kind, and a folder with two."""
    Path("untidy.par").write_text(UNTIDY)
    Path("tidy.par").write_text(TIDY)
    Path("broken.par").write_text("train {\n  seq_len = \n}\n")
    Path("jobs/.hidden").mkdir(parents=True)
    Path("jobs/b.par").write_text(UNTIDY)
    Path("jobs/a.par").write_text(TIDY)
    Path("jobs/notes.txt").write_text(UNTIDY)
    Path("jobs/.hidden/c.par").write_text(UNTIDY)
    Path("empty").mkdir()


def standard_input(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_files_are_written_and_named(run: Parc) -> None:
    ran = run("fmt", "untidy.par", "tidy.par", "jobs")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines() == ["formatted untidy.par", "formatted jobs/b.par"]
    assert Path("untidy.par").read_text() == Path("jobs/b.par").read_text() == TIDY
    assert Path("jobs/notes.txt").read_text() == Path("jobs/.hidden/c.par").read_text() == UNTIDY
    assert run("fmt", "untidy.par", "jobs").err == ""


def test_check_writes_nothing_and_shows_the_first_line_that_would_change(run: Parc) -> None:
    ran = run("fmt", "--check", "tidy.par", "untidy.par")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        "error[PAR060]: `untidy.par` is not in canonical form\n --> untidy.par:2:1\n"
    )
    assert "seq_len=8192" in ran.err and "`parc fmt untidy.par`" in ran.err
    assert Path("untidy.par").read_text() == UNTIDY
    fine = run("fmt", "--check", "tidy.par")
    assert (fine.code, fine.out, fine.err) == (0, "", "")


@pytest.mark.parametrize(("more", "code"), [((), 0), (("--check",), 1)])
def test_diff_prints_what_would_change(run: Parc, more: tuple[str, ...], code: int) -> None:
    ran = run("fmt", "--diff", "untidy.par", "tidy.par", *more)
    assert ran.code == code and Path("untidy.par").read_text() == UNTIDY
    lines = ran.out.splitlines()
    assert lines[:2] == ["--- a/untidy.par", "+++ b/untidy.par"] and "tidy.par" not in lines[2:]
    assert "-  seq_len=8192 # tokens" in lines and "+  seq_len      = 8192  # tokens" in lines


def test_standard_input_goes_to_standard_output(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(UNTIDY.encode(), monkeypatch)
    ran = run("fmt", "-")
    assert (ran.code, ran.out, ran.err) == (0, TIDY, "")
    standard_input(UNTIDY.encode(), monkeypatch)
    checked = run("fmt", "-", "--check")
    assert (checked.code, checked.out) == (1, "") and "<stdin>:2:1" in checked.err


@pytest.mark.parametrize("text", [b"train {", b"\xff", b"# long\n" * 100_000])
def test_bad_standard_input_is_refused(
    run: Parc, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_input(text, monkeypatch)
    ran = run("fmt", "-")
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("error[PAR00")


def test_a_wrong_file_is_left_and_the_others_are_written(run: Parc) -> None:
    before = Path("broken.par").read_text()
    ran = run("fmt", "broken.par", "nowhere.par", "empty", "untidy.par")
    assert ran.code == 2 and Path("broken.par").read_text() == before
    assert [
        code for code in ("PAR001", "`nowhere.par`", "`empty` holds no") if code not in ran.err
    ] == []
    assert "broken.par:2" in ran.err and Path("untidy.par").read_text() == TIDY


def test_json_says_of_each_file_whether_it_changed(run: Parc) -> None:
    ran = run("fmt", "--json", "--check", "tidy.par", "untidy.par")
    assert json.loads(ran.out) == [
        {"path": "tidy.par", "changed": False},
        {"path": "untidy.par", "changed": True},
    ]
    assert ran.code == 1


def test_byte_order_mark_line_ends_mode_and_link_stay(run: Parc) -> None:
    path = Path("marked.par")
    path.write_bytes(b"\xef\xbb\xbf" + UNTIDY.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    os.symlink("marked.par", "link.par")
    assert run("fmt", "link.par", "marked.par").err == "formatted link.par\n"
    assert path.read_bytes() == b"\xef\xbb\xbf" + TIDY.replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640 and Path("link.par").is_symlink()


def test_a_file_that_cannot_be_replaced_is_named(run: Parc) -> None:
    os.link("untidy.par", "second.par")
    ran = run("fmt", "untidy.par")
    assert ran.code == 2 and "PAR090" in ran.err and Path("untidy.par").read_text() == UNTIDY
