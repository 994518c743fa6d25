"""The published schemas: they are those of this release, each shape has its version, and what commands print
is of them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from parc.printing.schemas import SCHEMAS, address, schema, shape_of
from tests.support import simulated_logs
from tests.support.command_line import JOB, Parc
from tests.support.paths import GOLDEN, ROOT

FOLDER = ROOT / "docs" / "schemas"
VERSIONS = FOLDER / "versions.csv"
SCRIPT = """#!/bin/bash
torchrun --nproc-per-node 8 --nnodes $NODES pretrain_gpt.py --tensor-model-parallel-size 3 --num-layers 4 \\
  --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 1 --global-batch-size 8 \\
  --eod-mask-loss
"""
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 1000,
    "attn_implementation_of_mine": "none",
}


def digest(name: str) -> str:
    return hashlib.sha256(shape_of(name).encode()).hexdigest()


def versions() -> dict[tuple[str, str], str]:
    """The digest of the shape that each version of each schema has."""
    rows = csv.DictReader(io.StringIO(VERSIONS.read_text()))
    return {(row["schema"], row["version"]): row["sha256"] for row in rows}


def published(name: str) -> str:
    return json.dumps(schema(name), indent=2) + "\n"


@cache
def validator(name: str) -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema(name))
    return kind(schema(name))


def wrong(name: str, value: object) -> list[str]:
    """What of a value is not of a schema."""
    return [f"{each.json_path}: {each.message}" for each in validator(name).iter_errors(value)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_shape_that_has_changed_has_a_new_version(name: str, update: bool) -> None:
    """`--update` writes the digest of a version that has none, and never that of another shape."""
    version = str(SCHEMAS[name][0])
    kept = versions()
    if update and (name, version) not in kept:
        with VERSIONS.open("a") as file:
            file.write(f"{name},{version},{digest(name)}\n")
        kept = versions()
    assert kept[name, version] == digest(name), (
        f"what `{name}` prints has another shape: raise its version in cli/printing/schemas.py, "
        "then pytest --update"
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_code(name: str, update: bool) -> None:
    path = FOLDER / f"{name}.json"
    if update:
        path.write_text(published(name))
    assert path.read_text() == published(name)
    assert address(name) == f"urn:parc:schema:{name}:{SCHEMAS[name][0]}"


def test_no_schema_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SCHEMAS)
    assert all(int(version) <= SCHEMAS[name][0] for name, version in versions())


@pytest.mark.parametrize("name", ["plan", "explain"])
def test_another_key_or_a_missing_one_is_another_shape(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from parc.printing.shapes import EXPLAINED, PLANNED, shape

    keys = {"plan": PLANNED, "explain": EXPLAINED}[name]
    before = digest(name)
    for other in ({**keys, "more": int}, dict(list(keys.items())[1:]), {**keys, "job": int}):
        version, _, about = SCHEMAS[name]
        monkeypatch.setitem(SCHEMAS, name, (version, shape("Other", other), about))
        assert digest(name) != before


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*/plan.json")), ids=lambda path: path.parent.name
)
def test_plan_files_are_of_their_schema(path: Path) -> None:
    value = json.loads(path.read_text())
    assert wrong("plan-file", value) == []
    assert wrong("plan", value) and wrong("plan-file", {**value, "more": 1})
    del value["plans"][0]["mfu"]
    assert wrong("plan-file", value)


def printed(run: Parc, *command: str) -> Iterator[tuple[str, Any]]:
    """What a command prints as JSON, by its words."""
    yield " ".join(command), json.loads(run(*command, "--json").out)


def test_plans_are_of_their_schema(run: Parc) -> None:
    shutil.copytree(ROOT / "examples", "examples")
    Path("open.par").write_text(JOB.replace("1G", "1G; compile = { false, true }"))
    for job in ("job.par", "impossible.par", "open.par", "examples/gpt_125m.par"):
        for command, value in printed(run, "plan", job):
            assert wrong("plan", value) == [], command
    for command, value in printed(run, "plan", "examples/stages/llama3_405b.par"):
        assert wrong("plan-stages", value) == [], command
        assert wrong("plan", value)


def test_prices_are_of_their_schema(run: Parc) -> None:
    for layout in ("tp=2", "tp=3", "tp=2,pp=2,recompute=full"):
        for command, value in printed(run, "estimate", "job.par", "--layout", layout):
            assert wrong("estimate", value) == [], command
            assert bool(value["broken"]) == (layout == "tp=3")


def test_explanations_are_of_their_schema(run: Parc, tmp_path: Path) -> None:
    simulated_logs.record(tmp_path, ("tp2",))
    for more in ([], ["--against", "tp=2"], ["--target", "megatron", "--log", "tp2.log"]):
        for command, value in printed(run, "explain", "job.par", *more):
            assert wrong("explain", value) == [], command
            assert (value["against"] is not None) == ("--against" in more)
            assert (value["ran"] is not None) == ("--log" in more)


def test_complaints_are_of_their_schema(run: Parc) -> None:
    Path("notes.par").write_text(JOB.replace("model m", "model m { layers = 4 }\nmodel m"))
    for job in ("job.par", "wrong.par", "notes.par", "nothing.par"):
        for command, value in printed(run, "check", job):
            assert wrong("check", value) == [], command
            assert bool(value) == (job != "job.par")


def test_findings_and_imported_jobs_are_of_their_schemas(run: Parc) -> None:
    Path("train.sh").write_text(SCRIPT)
    Path("config.json").write_text(json.dumps(CONFIG))
    linted = json.loads(run("lint", "train.sh", "--spec", "job.par", "--format", "json").out)
    assert wrong("lint", linted) == []
    assert any("unknown" in fact for file in linted["files"] for fact in file["facts"].values())
    assert any(each["related"] for each in linted["findings"])
    for path in ("train.sh", "config.json"):
        for command, value in printed(run, "import", path):
            assert wrong("import", value) == [], command
            assert value["missing"] and value["lost"], command
