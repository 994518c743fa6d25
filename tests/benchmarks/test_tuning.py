"""benchmarks/accuracy/tuning.py: the score of the published runs, and rows of any content."""

import csv
import json
import random
from pathlib import Path

import pytest

from benchmarks.accuracy import tuning
from benchmarks.accuracy.rows.tuning_rows import NAMES, NUMBERS

Capture = pytest.CaptureFixture[str]


def _written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*NAMES, "notes"], restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_published_runs_keep_their_score(tmp_path: Path, capsys: Capture) -> None:
    """The score of the runs in benchmarks/data: a change for the worse is seen."""
    report = tmp_path / "scores.json"
    assert tuning.main(["--json", str(report)]) == 0
    scores = json.loads(report.read_text("utf-8"))
    assert scores == json.loads(capsys.readouterr().out)
    assert list(scores) == ["fits", "oom", "log_loss", "memory", "time", "inexpressible"]
    assert scores["fits"]["right"] / scores["fits"]["total"] > 0.8
    assert scores["oom"]["right"] / scores["oom"]["total"] > 0.6
    assert scores["log_loss"] < 0.47
    assert scores["memory"]["n"] > 120 and scores["memory"]["median_ape"] < 0.1
    assert len(scores["inexpressible"]) < 0.1 * 223


RUN = {
    "id": "a", "source": "b", "model": "Qwen/Qwen2.5-7B-Instruct", "tune": "lora", "method": "sft",
    "lora_rank": "8", "lora_targets": "all-linear", "quant": "none", "gpu": "A100-80", "gpus": "1",
    "parallel": "none", "offload": "none", "seq_len": "2048", "micro_batch": "1", "packed": "1",
    "gradient_checkpointing": "1", "attention": "flash", "precision": "bf16", "optimizer": "adamw",
    "framework": "ms-swift", "outcome": "fits", "peak_mem_gb": "22", "mem_unit": "GB",
}  # fmt: skip


def test_a_run_is_priced_from_its_columns(tmp_path: Path) -> None:
    bigger = {
        **RUN,
        "id": "large",
        "model": "meta-llama/Llama-2-70b-hf",
        "tune": "full",
        "outcome": "oom",
    }
    rows, left_out = tuning.judged(_written(tmp_path / "a.csv", [RUN, bigger]))
    assert not left_out
    fits, large = rows
    assert (fits.fits or 0) > 0.9 and abs((fits.memory_ratio or 0) - 1) < 0.15
    assert (large.fits or 1) < 0.1 and large.memory_ratio is None


def test_rows_that_state_no_run_are_named_with_the_reason(tmp_path: Path) -> None:
    cases = {
        "no model named": {"model": ""},
        "impossible `gpus`: minus": {"gpus": "minus"},
        "impossible `seq_len`: -5": {"seq_len": "-5"},
        "unknown tune `prefix`": {"tune": "prefix"},
        "unknown layout `rings`": {"parallel": "rings"},
        "unknown gpu `abacus`": {"gpu": "abacus"},
        "google/flan-t5-xxl: not a decoder of attention layers": {"model": "google/flan-t5-xxl"},
        "some/model: shape not known": {"model": "some/model"},
        "outcome is `perhaps`": {"outcome": "perhaps"},
    }
    path = _written(tmp_path / "a.csv", [{**RUN, **change} for change in cases.values()])
    rows, left_out = tuning.judged(path)
    assert not rows and [each["reason"] for each in left_out] == list(cases)


def test_no_value_ends_the_report(tmp_path: Path) -> None:
    """Rows with any column replaced: each is priced or left out, and the report is written."""
    chosen = random.Random(47)
    odd = ["", "0", "1e15", "-1", "nan", "inf", "½", "9" * 400, "tp=0", "tp=8,pp=9", "zero9", "a,b", "None",
           "Qwen3-0B", "x-9999999b", "7b-a0b", "int8", "full", "gptq",
           "T4", "H100", "0.5", "100000"]  # fmt: skip
    rows = [
        {**RUN, chosen.choice(NAMES): chosen.choice(odd), chosen.choice(NAMES): chosen.choice(odd)}
        for _ in range(400)
    ]
    path = _written(tmp_path / "a.csv", rows)
    priced, left_out = tuning.judged(path)
    assert len(priced) + len(left_out) == len(rows) and priced and left_out
    assert tuning.main(["--data", str(path), "--rows"]) == 0
    assert set(NUMBERS) <= set(NAMES)


def test_a_file_that_is_no_table(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n", "utf-8")
    assert tuning.main(["--data", str(path)]) == 2
    assert "no column `id`" in capsys.readouterr().err
    assert tuning.main(["--data", str(tmp_path / "none.csv")]) == 2
