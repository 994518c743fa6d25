"""First words on the command line: help by task, unknown commands, parts of the library."""

from __future__ import annotations

import io

import pytest

from parc.__main__ import parser
from parc.commands import words
from tests.support.command_line import JOB, Parc


def test_std_lists_a_part(run: Parc) -> None:
    names = [line.split()[1] for line in run("std", "llama3_1").out.splitlines()]
    assert names == ["llama3_1_8b", "llama3_1_70b", "llama3_405b"]
    kinds = {kind: {line.split()[0] for line in run("std", f"--{kind}s").out.splitlines()}
             for kind in ("model", "gpu", "cluster")}  # fmt: skip
    assert kinds == {"model": {"model"}, "gpu": {"gpu"}, "cluster": {"cluster"}}
    assert run("std", "--gpus", "h100").out.startswith("gpu h100_sxm {")
    assert run("std", "--gpus", "qwen").code == 2


@pytest.mark.parametrize(
    ("word", "said"),
    [("plann", "did you mean `plan`?"), ("complie", "did you mean `compile`?"),
     ("job.par", "`parc plan job.par`"), ("zzz", "`parc --help` lists")],
)  # fmt: skip
def test_a_command_that_is_none_is_told_shortly(run: Parc, word: str, said: str) -> None:
    ran = run(word)
    assert ran.code == 2 and said in ran.err and len(ran.err.splitlines()) == 2


def test_help_has_every_command_once() -> None:
    text = parser().format_help()
    listed = [
        line.split()[0] for line in text.splitlines() if line[:2] == "  " and line[2:3] != " "
    ]
    assert sorted(set(words()) & set(listed)) == sorted(words())
    assert text.index("start here") < text.index("look up")


def test_check_reads_standard_input(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, code in ((JOB, 0), (JOB.replace("seq_len", "seq_lenn"), 2)):
        stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr("sys.stdin", stdin)
        ran = run("check", "-")
        assert ran.code == code and "<stdin>" in ran.out + ran.err
    assert run("check", "-", "--fix").code == 2
