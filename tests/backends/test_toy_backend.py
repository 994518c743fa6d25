"""A framework that parc does not have: one package and one line, and every command takes it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.__main__ import main
from parc.backends import BACKENDS
from tests.support.read_back import assert_plan_is_back
from tests.support.toy_backend import BACKEND

JOB = """\
model small { layers = 12; hidden = 768; heads = 12; ffn = 3072; vocab = 50257 }
cluster desk from std.dgx_a100 {}
train { seq_len = 2048; global_batch = 256; steps = 100 }
goal { maximize mfu; require tp == 2; require micro_batch == 4 }
target toy { rate = 0.2 }
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line."""
    monkeypatch.setitem(BACKENDS, "toy", BACKEND)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.par"
    path.write_text(JOB)
    return path


@pytest.fixture
def script(job: Path, tmp_path: Path) -> Path:
    """The emitted launch.sh."""
    assert main(["compile", str(job), "-o", str(tmp_path / "out")]) == 0
    return next((tmp_path / "out").rglob("launch.sh"))


def test_plan(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(job)]) == 0
    assert re.search(r"toy\b.*tp 2", capsys.readouterr().out, re.DOTALL)


def test_compile(script: Path, job: Path) -> None:
    (plan,) = parc.compile(parc.load(job))
    assert "--toy-tp 2" in script.read_text() and "--toy-rate 0.2" in script.read_text()
    files = {str(path): path.read_text() for path in script.parent.iterdir()}
    assert_plan_is_back(plan, files)


def test_reshape(script: Path, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, other = str(script.parent.parent), job.parent / "other.par"
    other.write_text(JOB.replace("tp == 2", "tp == 4"))
    assert main(["reshape", out, str(job)]) == 0
    assert main(["reshape", out, str(other)]) == 1
    assert "tp is not what it was" in capsys.readouterr().out
    assert main(["compile", str(other), "-o", out]) == 0
    assert "PAR158" in capsys.readouterr().err


def test_lint(script: Path, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(script), "--framework-version", "toy=1.0"]) == 0
    capsys.readouterr()
    script.write_text(script.read_text().replace("--toy-tp 2", "--toy-tp 5"))
    assert main(["lint", str(script.parent), "--spec", str(job)]) == 1
    told = capsys.readouterr().out
    assert "PAR111" in told and "heads 12 is not a multiple of tp 5" in told
    assert "tp 5" in told and f"{script.name}:" in told


def test_its_constraints(script: Path, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of its package alone: lint asks them of a script, `compile` of `extra`."""
    text = script.read_text()
    for options, expected in (
        ("--toy-decay 1", ["PAR303"]),
        ("--toy-decay 1 --toy-decay-steps 9", []),
        ("--toy-decay 1 --toy-decay-steps 9 --toy-warmup 2", ["PAR312"]),
    ):
        script.write_text(text.replace("--toy-rate 0.2", f"--toy-rate 0.2 {options}"))
        capsys.readouterr()
        assert main(["lint", str(script), "--format", "json"]) == bool(expected)
        found = json.loads(capsys.readouterr().out)["findings"]
        assert [(each["code"], each["severity"]) for each in found] == [
            (code, "error") for code in expected
        ]
    job.write_text(JOB.replace("rate = 0.2", "extra = { decay = 1 }"))
    assert main(["compile", str(job), "-o", str(job.parent / "other")]) == 1
    complaint = capsys.readouterr().err
    assert "error[PAR303]" in complaint and "--toy-decay needs --toy-decay-steps" in complaint
    assert "job.par:5:" in complaint


def planned(job: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The layout, and the model and training that it was found for."""
    capsys.readouterr()
    assert main(["plan", str(job), "--json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    loaded = parc.load(job)
    blocks = (loaded.model.model_dump(exclude={"name"}), loaded.train.model_dump())
    return {"layout": plan["layout"], "model": blocks[0], "steps": blocks[1]["steps"]}


def test_import(
    script: Path, job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = tmp_path / "imported.par"
    command = ["import", str(script), "--cluster", "std.dgx_a100", "-o", str(imported)]
    assert main(command) == 0
    assert "not in the files" not in capsys.readouterr().err
    assert planned(imported, capsys) == planned(job, capsys)


def test_smoke(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", str(job), "--cpu", "--procs", "2", "--steps", "5", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["target"] == "toy" and run["good"] and run["status"] == 0
    assert run["losses"] == [1.0, 0.36, 0.1296, 0.0467, 0.0168]
    assert run["trained"]["tp"] == 2


def test_what_it_declares_is_in_the_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)
    assert {rule["code"] for rule in rules if rule["origin"] == "toy"} == {"PAR111"}


def test_its_log_is_read() -> None:
    log = BACKEND.reader.log("toy step 1 loss 1.0000 in 0.5 s\ntoy step 2 loss 0.3600 in 0.5 s\n")
    assert log is not None and [pace.value for pace in log.paces] == [0.5, 0.5]
    assert [name for name, each in BACKENDS.items() if each.reader.log("nothing of the kind")] == []
