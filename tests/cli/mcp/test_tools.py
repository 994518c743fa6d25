"""What calls of tools become: command lines that no argument leaves, and complaints that say what to give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parc.dsl.diagnostics import JobError
from parc.mcp.answering import answer
from parc.mcp.checking import checked
from parc.mcp.tools import MOST_TEXT, TOOLS
from tests.support.command_line import JOB
from tests.support.paths import ROOT


def words(tool: str, **arguments: object) -> list[str]:
    return TOOLS[tool].command(checked(TOOLS[tool], arguments, "."))


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that answers enters the folder that is served: here it is that of all tests."""
    monkeypatch.chdir(Path.cwd())


def answered(folder: Path, command: list[str], job: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(
        answer(str(folder), {"words": command, "folder": None, "job": job})[1]
    )
    return said


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("plan", {"file": "-x.par"}, ["plan", "./-x.par", "--json"]),
        (
            "plan",
            {"job": "", "set": ["-v"], "targets": ["--help"], "stage": "-h"},
            ["plan", "job.par", "--json", "--set=-v", "--target=--help", "--stage=-h"],
        ),
        ("estimate", {"file": "a", "layout": "-o"}, ["estimate", "a", "--json", "--layout=-o"]),
        (
            "explain",
            {"file": "a", "against_files": ["--log", "-v"]},
            ["explain", "a", "--json", "--against", "./--log", "./-v"],
        ),
        (
            "lint",
            {"files": ["-", "--fix"], "arguments": ["--fix"], "env": {"--fix": "x"}},
            ["lint", "./-", "./--fix", "--env=--fix=x", "--format=json", "--", "--fix"],
        ),
        (
            "import",
            {"texts": {"-o": "x"}, "cluster": "--force"},
            ["import", "./-o", "--cluster=--force", "--json"],
        ),
    ],
)
def test_no_argument_becomes_an_option(
    tool: str, arguments: dict[str, object], expected: list[str]
) -> None:
    assert words(tool, **arguments) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("plan", {}, "plan: give either `job`, a text, or `file`, a name"),
        ("plan", {"job": "x", "file": "y"}, "plan: give either `job`, a text, or `file`, a name"),
        ("plan", {"file": "y", "target": ["a"]}, "plan: there is no argument `target`"),
        ("plan", {"file": 3}, "plan: `file`: input should be a valid string"),
        ("plan", {"file": "a\0b"}, "plan: `file`: string should match pattern"),
        ("plan", {"job": "x" * 262_145}, "plan: `job`: string should have at most 262144"),
        ("estimate", {"file": "y"}, "estimate: the argument `layout` is missing"),
        ("explain", {"file": "y", "against": "../tp=2"}, "explain: `against`: string should match"),
        ("lint", {}, "lint: give either `files`, names, or `texts`, texts by their names"),
        ("lint", {"texts": {"../a": "x"}}, "expected a relative name of a file in `texts`"),
        ("lint", {"texts": {"/a": "x"}}, "expected a relative name of a file in `texts`"),
        ("lint", {"texts": {"a": "x" * (MOST_TEXT + 1)}}, "string should have at most 4096"),
        ("lint", {"files": ["a"] * 1001}, "lint: `files`: tuple should have at most 1000 items"),
        ("import", {"files": ["/etc/passwd"]}, "`/etc/passwd` is outside of the folder"),
        ("import", {"files": ["a/../../b"]}, "`a/../../b` is outside of the folder"),
        ("lint", {"files": ["a"], "spec": "../b"}, "`../b` is outside of the folder"),
    ],
)
def test_wrong_arguments_are_told(tool: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(JobError) as wrong:
        words(tool, **arguments)
    assert message in wrong.value.diagnostics[0].message


def test_an_argument_that_is_nearly_one_has_its_cure() -> None:
    with pytest.raises(JobError) as wrong:
        words("plan", file="a", target=["megatron"])
    assert wrong.value.diagnostics[0].help == "did you mean `targets`?"


def test_a_job_as_a_text_may_import_files_of_the_folder_alone(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "lab.par").write_text("let depth = 2\n")
    (tmp_path / "secret.par").write_text("let secret_word = 1\n")
    inside = answered(served, ["check", "job.par", "--json"], f'import "lab.par"\n{JOB}')
    assert inside["code"] == 0 and json.loads(inside["printed"]) == []
    for name in ("../secret.par", "../nothing.par", str(tmp_path / "secret.par"), "/etc", ".."):
        outside = answered(served, ["check", "job.par", "--json"], f'import "{name}"\n{JOB}')
        (complaint,) = json.loads(outside["printed"])
        assert complaint["message"] == f"`{name}` lies outside of the folder that is served"
    assert not [*served.glob("job.par")]


def test_launch_files_are_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "secret.sh").write_text("export TP=secret_word\n")
    (served / "link.sh").symlink_to(tmp_path / "secret.sh")
    launch = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4"
    script = f"source {{}}\n{launch} --tensor-model-parallel-size $TP\n"
    for name in ("../secret.sh", "link.sh", str(tmp_path / "secret.sh")):
        (served / "train.sh").write_text(script.format(name))
        said = answered(served, ["lint", "train.sh", "--format=json"])
        assert "secret_word" not in said["printed"] + said["complaints"]
        (file,) = json.loads(said["printed"])["files"]
        assert "unknown" in file["facts"]["tp"]


def test_lint_does_not_tell_whether_a_file_outside_is_there(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "aaaaaa.sh").write_text("export TP=2\n")
    launch = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4"
    printed = []
    for name in ("aaaaaa", "bbbbbb"):
        (served / "train.sh").write_text(f"source ../{name}.sh\n{launch}\n")
        said = answered(served, ["lint", "train.sh", "--format=json"])
        printed.append((said["printed"] + said["complaints"]).replace(name, "NAME"))
    assert printed[0] == printed[1] and "NAME.sh" in printed[0]


def test_settings_above_the_folder_are_not_read(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "parc.toml").write_text("this is no TOML")
    (served / "train.sh").write_text("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4\n")
    said = answered(served, ["lint", "train.sh", "--format=json"])
    assert json.loads(said["printed"])["files"] and "parc.toml" not in said["complaints"]


def test_a_folder_that_has_gone_is_told(tmp_path: Path) -> None:
    said = answered(tmp_path / "gone", ["check", "job.par", "--json"])
    assert said["code"] == 2
    assert "cannot enter the folder that is served: no such file" in said["complaints"]


def test_a_fault_of_parc_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("parc.__main__.parser", lambda command: 1 / 0)
    said = answered(tmp_path, ["check", "job.par"])
    assert said["code"] == 3 and "PAR086" in said["complaints"]
    assert [*tmp_path.glob("parc-fault-*.txt")]


def test_without_the_extra_a_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['mcp_types'] = None; from parc.__main__ import main; "
    code += "sys.exit(main(['mcp']))"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr == (
        "error[PAR061]: `parc mcp` needs the package `mcp_types`\n"
        "  = help: install parc with its extra `mcp`, as in pip install './parc[mcp]'\n"
    )
