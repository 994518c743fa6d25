"""Compiled templates are kept as bytecode is, and compiled again where text or writers have changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from parc.backends.languages import compiled_templates
from parc.backends.languages.compiled_templates import CompiledTemplates


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for bytecode, into which Python may write."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield tmp_path / "bytecode"


def filled(folder: Path) -> str:
    made = Environment(loader=FileSystemLoader(folder), bytecode_cache=CompiledTemplates())
    return made.get_template("a.sh.j2").render(what="run")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_template_is_compiled_once(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.sh.j2").write_text("echo {{ what }}")
    assert filled(tmp_path) == "echo run" and len(files(kept)) == 1
    monkeypatch.setattr(Environment, "_generate", None)
    assert filled(tmp_path) == "echo run"


def test_another_text_or_other_writers_are_compiled_again(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.sh.j2").write_text("echo {{ what }}")
    filled(tmp_path)
    (tmp_path / "a.sh.j2").write_text("print {{ what }}")
    assert filled(tmp_path) == "print run" and len(files(kept)) == 1
    before = files(kept)[0].read_bytes()
    monkeypatch.setattr(compiled_templates, "_writers", lambda: "changed")
    assert filled(tmp_path) == "print run" and files(kept)[0].read_bytes() != before


@pytest.mark.parametrize("rest", [b"", b"j2", b"\xff" * 200])
def test_broken_bytecode_is_compiled_again(rest: bytes, tmp_path: Path, kept: Path) -> None:
    (tmp_path / "a.sh.j2").write_text("echo {{ what }}")
    filled(tmp_path)
    whole = files(kept)[0].read_bytes()
    for broken in (rest, whole[: len(whole) // 2]):
        files(kept)[0].write_bytes(broken)
        assert filled(tmp_path) == "echo run"
        assert files(kept)[0].read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.sh.j2").write_text("echo {{ what }}")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert filled(tmp_path) == "echo run" and not kept.exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept.write_text("a file in its place")
    assert filled(tmp_path) == "echo run"
