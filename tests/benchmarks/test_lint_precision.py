"""benchmarks/lint/lint_precision.py: judged rows that are kept, lost, said and missing."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.lint import lint_precision

SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --include=node1
torchrun --nproc_per_node 4 --nnodes 2 --master_port 29500 pretrain_gpt.py \\
    --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --micro-batch-size 4 --global-batch-size 24 \\
    --bf16 --train-iters 10 --deepspeed --deepspeed_config ds.json
"""
CONFIG = (
    '{\n  "train_batch_size": 64,\n  "zero_optimization": {"stage": 1,\n    "persitence": 1}\n}\n'
)
COLUMNS = ("repo", "path", "line", "code", "message", "verdict")
ROWS = [
    ("owner/name", "sub/run.sh", "3", "PAR660", "--include", "true"),
    ("owner/name", "sub/run.sh", "4", "PAR403", "line 4 of ds.json", "true"),
    ("owner/name", "sub/run.sh", "2", "PAR660", "there is none at line 2", "false"),
    ("owner/name", "sub/run.sh", "", "PAR660", "anywhere, --include", "false"),
    ("owner/name", "sub/run.sh", "", "PAR660", "--exclude is not meant", "false"),
    ("owner/name", "", "", "PAR660", "in any file", "false"),
    ("owner/name", "sub/run.sh", "3", "PAR660", "neither way", "arguable"),
]


def _scored(folder: Path, rows: Sequence[tuple[str, ...]], checkout: str) -> tuple[int, object]:
    sub = folder / checkout / "sub"
    sub.mkdir(parents=True)
    (sub / "run.sh").write_text(SCRIPT)
    (sub / "ds.json").write_text(CONFIG)
    table, out = folder / "judged.csv", folder / "score.json"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    given = ["--judged", str(table), "--root", str(folder), "--json", str(out)]
    return lint_precision.main(given), json.loads(out.read_text())


@pytest.mark.parametrize("checkout", ["owner+name", "owner/name"])
def test_judged_findings_are_scored(
    checkout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _scored(tmp_path, ROWS, checkout) == (
        0,
        {"true": {"kept": 2, "total": 2}, "false": {"said": 2, "total": 4}, "precision": 0.5},
    )
    printed = capsys.readouterr().out
    assert "anywhere, --include" in printed and "precision 0.500" in printed


def test_a_hint_is_found_but_not_said(tmp_path: Path) -> None:
    _scored(tmp_path, [], "owner+name")
    row = dict(
        zip(COLUMNS, ("owner/name", "sub/run.sh", "4", "PAR605", "port", "true"), strict=True)
    )
    (judged,) = lint_precision.judged_rows([row], tmp_path)
    assert judged.finding is not None and judged.finding.severity == "info"
    assert not judged.said and lint_precision.summary([judged])["true"] == {"kept": 0, "total": 1}


def test_a_missing_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*ROWS, ("owner/name", "gone.sh", "1", "PAR101", "", "true")]
    code, _ = _scored(tmp_path, rows, "owner+name")
    assert code == 2 and "gone.sh is not there" in capsys.readouterr().out


DATA = Path(__file__).resolve().parents[2] / "benchmarks" / "data"
VERDICTS = ("true", "false", "arguable")


def test_the_committed_table_is_what_its_note_says() -> None:
    with (DATA / "lint_judged.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(row["reason"] and len(row["commit"]) == 40 for row in rows)
    counts = Counter((row["draw"], row["severity"], row["verdict"]) for row in rows)
    note = (DATA / "README.md").read_text()
    for draw in map(str, range(1, 51)):
        cells = [
            ", ".join(str(counts[draw, severity, verdict]) for verdict in VERDICTS)
            for severity in ("error", "warning")
        ]
        assert re.search(rf"^\| {draw} \| .* \| {cells[0]} \| {cells[1]} \|$", note, re.MULTILINE)
    assert sum(counts.values()) == 1190
