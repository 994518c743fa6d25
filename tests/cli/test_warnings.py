"""Warnings of `parc check`: each page's bad example has it and the good one has not, as a user would see."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from parc.checking import checked
from parc.warnings import WARNINGS, name_of, parts
from tests.support.command_line import Parc
from tests.support.paths import ROOT

#: The blocks of a job that an example leaves out.
REST = {
    "model": "model from llama3_8b { }",
    "cluster": "cluster from dgx_h100 { nodes = 2 }",
    "train": "train { seq_len = 8192; global_batch = 512; tokens = 1T }",
    "target": "target torchtitan { }",
}


def job_of(example: str) -> str:
    missing = (text for kind, text in REST.items() if f"{kind} " not in example)
    return "\n".join([*example.splitlines(), *missing]) + "\n"


def codes_of(text: str) -> list[str]:
    found = checked("job.par", text=text)
    assert found.code == 0, found
    return [each.code for each in found.diagnostics]


@pytest.mark.parametrize("module", WARNINGS, ids=name_of)
def test_the_examples_of_a_page(module: ModuleType) -> None:
    said = parts(module)
    assert set(said) == {"What", "Why", "Bad", "Good"}
    assert codes_of(job_of(said["Bad"])) == [module.CODE]
    assert codes_of(job_of(said["Good"])) == []


@pytest.mark.parametrize("module", WARNINGS, ids=name_of)
def test_a_comment_accepts_a_warning(module: ModuleType) -> None:
    text = f"# parc: ignore[{module.CODE}] as agreed\n" + job_of(parts(module)["Bad"])
    assert codes_of(text) == []
    unused = f"# parc: ignore[{module.CODE}] as agreed\n" + job_of(parts(module)["Good"])
    (complaint,) = checked("job.par", text=unused).diagnostics
    assert complaint.span is not None and complaint.span.text == module.CODE
    assert "does not occur" in complaint.message


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.par")), ids=lambda p: p.stem)
def test_examples_mean_what_they_say(path: Path) -> None:
    assert checked(str(path)).diagnostics == ()


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("require tp in {1, 2, 4, 8, 16}", "PAR064"),
        ("forbid tp > 16", "PAR065"),
        ("require pp == 5", "PAR065"),
        ("require 1 <= nodes <= 2", "PAR064"),
        ("require gpus == 8", "PAR065"),
        ("prefer micro_batch > 512", "PAR065"),
        ("require zero <= 3", "PAR064"),
        ("require mfu <= 100%", "PAR064"),
        ("require memory > 100%", "PAR065"),
        ("require recompute in {none, selective, fine, moe, full}", "PAR064"),
    ],
)
def test_conditions_that_choose_nothing(condition: str, code: str) -> None:
    assert codes_of(job_of(f"goal {{ {condition} }}")) == [code]


@pytest.mark.parametrize(
    "condition",
    [
        "require tp <= 8",
        "require nodes == 2 and tp == 8",
        "require tp * pp <= 16",
        "prefer pp == 1",
        "require mfu >= 40%",
        "require 40% <= memory",
        "forbid recompute == full",
        "prefer microbatches % 3 == 0",
    ],
)
def test_conditions_that_choose(condition: str) -> None:
    assert codes_of(job_of(f"goal {{ {condition} }}")) == []


@pytest.mark.parametrize(
    "setting", ["memory_bandwidth = 3 Tb/s", "reserve = 16 Gib", "nvlink = 450 Gb/s"]
)
def test_bits_of_a_gpu(setting: str) -> None:
    text = (
        f"gpu mine from h100_sxm {{ {setting} }}\ncluster from dgx_h100 {{ gpu = mine; nodes = 2 }}"
    )
    assert codes_of(job_of(text)) == ["PAR069"]


def test_the_command_says_warnings_and_goes_on(run: Parc) -> None:
    Path("odd.par").write_text("let a = 1\n" + job_of(""))
    said = run("check", "odd.par")
    assert (said.code, said.out) == (0, "") and said.err.startswith("warning[PAR063]: `a` is")
    (found,) = json.loads(run("check", "--json", "odd.par").out)
    assert (found["severity"], found["fix"]["safe"]) == ("warning", False)
    assert run("check", "--fix", "--unsafe-fixes", "odd.par").out == "odd.par: fine\n"
    assert Path("odd.par").read_text() == job_of("")


def test_the_command_explains(run: Parc) -> None:
    for module in WARNINGS:
        page = run("check", "--explain", module.CODE).out
        assert page.startswith(f"# {module.CODE} {name_of(module)}\n") and "## Passes" in page
        assert page == run("rules", name_of(module)).out
    assert run("check", "--explain", "PAR011").out.startswith("PAR011  unknown-name")
    assert run("check", "--explain", "PAR000").code == 2
    assert "no job is named" in run("check").err
