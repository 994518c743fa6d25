"""benchmarks/lint/lint_score.py: cells that are right, unknown and wrong of a manifest made for it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from benchmarks.lint import lint_score
from benchmarks.lint.score_cells import FACT_OF, verdict
from parc.reading.facts import Unknown, Value

DATA = Path(__file__).resolve().parents[2] / "benchmarks" / "data"
SCRIPT = """#!/bin/bash
torchrun --nproc_per_node 8 --nnodes $1 pretrain_gpt.py --num-layers 24 --hidden-size 1024 \\
    --num-attention-heads 16 --micro-batch-size $(nproc) --bf16 --train-iters 10
"""


def test_a_manifest_is_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "owner+name" / "sub").mkdir(parents=True)
    (tmp_path / "owner+name" / "sub" / "run.sh").write_text(SCRIPT)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto"}')
    rows = [
        {
            "id": "T1", "repo": "owner/name", "path": "sub/run.sh", "invocation": "2", "nodes": "2",
            "world": "16", "layers": "24", "hidden": "512", "mbs": "4", "precision": "bf16",
            "gbs": "absent", "dist_opt": "no", "defects": "none",
        },
        {"id": "T2", "copy": "ds.json", "mbs": "auto", "zero_stage": "0", "world": "unknown(it runs on)"},
        {"id": "T3", "repo": "owner/name", "path": "missing.sh", "tp": "1"},
    ]  # fmt: skip
    names = ["id", "repo", "path", "copy", "invocation", "defects", *lint_score.FACTS]
    with (tmp_path / "manifest.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    out = tmp_path / "score.json"
    given = [
        "--manifest",
        str(tmp_path / "manifest.csv"),
        "--root",
        str(tmp_path),
        "--json",
        str(out),
    ]
    assert lint_score.main(given) == 0
    score = json.loads(out.read_text())
    assert score["facts"] == {
        "right": 8, "unknown": 2, "wrong": 1, "cells": 11, "unknown_cells": 1, "unknown_cells_right": 1,
    }  # fmt: skip
    first, second, third = score["by_file"]
    assert {cell["fact"] for cell in first["not_right"]} == {"hidden", "mbs"}
    assert second["not_right"] == [] and "no such file" in third["problem"].lower()
    assert "8 of 11 cells right" in capsys.readouterr().out


def test_variables_and_other_files_of_a_job(tmp_path: Path) -> None:
    """`env` reaches the script, and a script that starts another one of `also` is one job with it."""
    folder = tmp_path / "owner+name" / "sub"
    folder.mkdir(parents=True)
    (folder / "submit.sh").write_text('export TP=4\nbash sub/train.sh "$NODES"\n')
    (folder / "train.sh").write_text(
        "torchrun --nnodes $NODES --nproc_per_node 8 pretrain_gpt.py --num-layers 24 \\\n"
        "    --hidden-size 512 --tensor-model-parallel-size $TP\n"
    )
    row = {"id": "T", "repo": "owner/name", "path": "sub/submit.sh", "tp": "4", "world": "16"}
    alone = lint_score.score(row, tmp_path, tmp_path)
    told = lint_score.score({**row, "env": "NODES=2", "also": "train.sh"}, tmp_path, tmp_path)
    by_root = lint_score.score(
        {**row, "env": 'NODES="2"', "also": "sub/train.sh"}, tmp_path, tmp_path
    )
    assert [cell.verdict for cell in told.cells] == ["right", "right"]
    assert told.cells == by_root.cells != alone.cells


def test_a_variable_without_a_value_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(SCRIPT)
    row = {"id": "T", "repo": "", "path": "", "copy": "run.sh", "env": "NODES"}
    with pytest.raises(ValueError, match="`NODES` in column env is no NAME=VALUE"):
        lint_score.score(row, tmp_path, tmp_path)


CELLS = [
    ("precision", "bf16 (default)", "bf16", "right"),
    ("precision", "bf16", "bf16=True", "right"),
    ("precision", "fp16=auto+bf16=auto", "bf16=auto+fp16=auto", "right"),
    ("precision", "bf16=auto", "bf16", "wrong"),
    ("precision", "fp16", "fp32", "wrong"),
    ("recompute", "full(uniform; old flag)", "full", "right"),
    ("recompute", "selective", "full", "wrong"),
    ("rampup", "16 16 6_000_000", "16 16 6000000", "right"),
    ("seq_parallel", "yes", True, "right"),
    ("seq_parallel", "yes", False, "wrong"),
    ("zero_stage", "none", "none", "right"),
    ("zero_stage", "none", 0, "wrong"),
    ("dp", "invalid", "invalid", "right"),
    ("dp", "invalid", 4, "wrong"),
    ("dp", "8", Unknown("?"), "unknown"),
    ("world", "unknown(hostfile)", 8, "wrong"),
    ("world", "unknown(hostfile)", Unknown("?"), "right"),
]


@pytest.mark.parametrize("name, wanted, answer, judged", CELLS)
def test_cells(name: str, wanted: str, answer: Value | Unknown, judged: str) -> None:
    assert verdict(name, wanted, {FACT_OF.get(name, name): answer})[1] == judged


def test_shards_of_torchtitan() -> None:
    told: dict[str, Value | Unknown] = {"dp_replicate": 1, "dp_shard": -1, "dp": Unknown("?")}
    assert verdict("dp", "replicate 1 x shard -1", told)[1] == "right"
    assert verdict("dp", "replicate 2 x shard -1", told)[1] == "wrong"


FORMATS = (
    "accelerate-yaml",
    "trainer-yaml",
    "megatron-yaml|gpt-neox-yaml",
    "kubernetes",
    "verl",
    "nemo-python",
    "nanotron-yaml",
    "foundry-yaml",
)


@pytest.mark.parametrize("kinds", FORMATS)
def test_the_manifest_of_formats_has_facts_of_fifteen_files_of_each(kinds: str) -> None:
    with (DATA / "lint_formats.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] in kinds.split("|")]
    files = {(row["repo"], row["path"]) for row in rows}
    assert len(files) == len(rows) >= 15
    for row in rows:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", row["repo"]) and len(row["commit"]) == 40
        assert [name for name in lint_score.FACTS if row.get(name)], row["id"]
