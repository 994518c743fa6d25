"""benchmarks/accuracy/tuning.py: the score of the published runs, and rows of any content."""

import csv
import json
import random
from pathlib import Path

import pytest

from benchmarks.accuracy import fit_tuning, tuning
from benchmarks.accuracy.rows.tuning_rows import NAMES, NUMBERS, TuningRow, tuning_row
from benchmarks.accuracy.setups.open_settings import completed
from benchmarks.accuracy.setups.tuned_run import stated
from parc.compiler.tuning.memory import peak

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
    assert scores["fits"]["right"] / scores["fits"]["total"] > 0.92
    assert scores["oom"]["right"] / scores["oom"]["total"] > 0.44
    assert scores["log_loss"] < 0.47
    assert scores["memory"]["n"] > 120 and scores["memory"]["median_ape"] < 0.08
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


def _row(**changes: str) -> TuningRow:
    return tuning_row({**dict.fromkeys(NAMES, ""), **RUN, **changes})


def test_an_open_setting_has_each_value_with_its_chance() -> None:
    open_row = _row(seq_len="", gradient_checkpointing="", attention="", date="2023-06-01",
                    framework="transformers", gpu="V100-32", micro_batch="")  # fmt: skip
    rows = list(completed(open_row, large=False))
    assert sum(chance for chance, _ in rows) == pytest.approx(1)
    for _, each in rows:
        assert each.seq_len and each.micro_batch and each.gradient_checkpointing is not None
    eager = sum(chance for chance, each in rows if each.attention == "eager")
    assert eager > 0.9
    later = list(completed(_row(attention="", date="2025-01-01"), large=False))
    assert [each.attention for _, each in later] == [""]
    assert [chance for chance, _ in later] == [1.0]


@pytest.mark.parametrize(
    ("more", "less", "gigabytes"),
    [
        # 64 experts x (2 x 1536 + 2048 + 2048 + 1536) x rank 8 in 46 layers, ten bytes or more of each.
        ({"lora_targets": "q_proj,experts"}, {"lora_targets": "q_proj,shared_expert.up_proj"}, 2.0),
        ({"attention": "eager", "seq_len": "8192"}, {"attention": "flash", "seq_len": "8192"}, 10.0),
        ({"method": "dpo", "seq_len": "4096"}, {"method": "sft", "seq_len": "8192"}, 3.0),
    ],
)  # fmt: skip
def test_causes_of_memory_raise_the_peak(
    more: dict[str, str], less: dict[str, str], gigabytes: float
) -> None:
    base = {"model": "zai-org/GLM-4.7-Flash"}
    high, low = (peak(stated(_row(**base, **change)).run).device for change in (more, less))
    assert high - low > gigabytes * 1e9


def test_sharding_divides_quantized_linears_and_no_quantized_experts() -> None:
    changes = {"framework": "axolotl", "tune": "qlora", "quant": "nf4"}
    shares = {}
    for model in ("zai-org/GLM-4.7-Flash", "meta-llama/Llama-2-7b-hf"):
        alone, two = (
            peak(stated(_row(**changes, model=model, gpus=gpus, parallel=layout)).run).weights
            for gpus, layout in (("1", "none"), ("2", "fsdp2"))
        )
        shares[model] = two / alone
    assert shares["zai-org/GLM-4.7-Flash"] > 0.85 and shares["meta-llama/Llama-2-7b-hf"] < 0.55


def test_offloaded_gradients_leave_the_gpu() -> None:
    kept, moved = (
        peak(stated(_row(tune="full", gpus="4", parallel="zero3", offload=where)).run)
        for where in ("none", "optimizer")
    )
    assert kept.gradients > 3e9 and moved.gradients == moved.optimizer == 0
    assert moved.host >= kept.gradients + kept.optimizer


def test_halves_share_no_source(capsys: Capture) -> None:
    rows, _ = tuning.judged(tuning.DATA)
    first, second = fit_tuning.halves(rows, seed=47)
    names = [{fit_tuning.repository(each.row.source) for each in side} for side in (first, second)]
    assert not names[0] & names[1] and len(first) + len(second) == len(rows)
    assert fit_tuning.main(["--seed", "47"]) == 0
    fitted, left_out = capsys.readouterr().out.splitlines()[1:]
    assert json.loads(left_out.partition(": ")[2])["log_loss"] < 0.44 and "fitted to" in fitted


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
