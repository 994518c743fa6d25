"""Scoring measured runs: today's accuracy is held, and bad files and rows are named and counted."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.accuracy import accuracy
from benchmarks.accuracy.report import document_tables
from benchmarks.accuracy.report.scores import ranks, regret, simplest_regret, spearman
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from docs.tables import filled_among
from tests.support.measured_rows import GOOD, row, write

#: Errors that the cost model may not exceed, and coverage and ranking that it may not fall below.
HELD = {
    "median of rows": 0.052,
    "90th percentile of rows": 0.17,
    "median of sources": 0.05,
    "90th percentile of sources": 0.12,
}
COVERED = 0.955
RANKED, REGRET = 0.83, 0.01


@pytest.fixture(scope="module")
def public() -> dict[str, Any]:
    return accuracy.report(accuracy.score(accuracy.DATA))


def scored(tmp_path: Path, *rows: dict[str, str]) -> dict[str, Any]:
    return accuracy.report(accuracy.score(write(tmp_path / "runs.csv", *rows)))


def test_accuracy_is_held(public: dict[str, Any]) -> None:
    overall = public["overall"]
    rows, sources = overall["rows"], overall["median_of_sources"]
    found = {
        "median of rows": rows["median_ape"],
        "90th percentile of rows": rows["p90_ape"],
        "median of sources": sources["median_ape"],
        "90th percentile of sources": sources["p90_ape"],
    }
    assert {name: error for name, error in found.items() if error > HELD[name]} == {}


def test_coverage_and_ranking_are_held(public: dict[str, Any]) -> None:
    assert public["coverage"] >= COVERED
    assert public["group_summary"]["all"]["spearman"] >= RANKED
    assert public["group_summary"]["all"]["regret_mean"] <= REGRET


def test_the_simplest_of_near_equals_is_no_worse_a_choice(public: dict[str, Any]) -> None:
    """`goal.within`, on layouts that were measured."""
    found = public["group_summary"]["all"]
    assert found["regret_simplest"] <= found["regret_mean"] + 1e-9


def test_regret_of_the_simplest() -> None:
    predicted, measured = np.array([1.0, 1.005, 1.02]), np.array([1.1, 1.0, 0.9])
    assert simplest_regret(predicted, measured, np.array([3, 2, 1])) == pytest.approx(1 / 9)
    assert simplest_regret(predicted, measured, np.array([1, 2, 0])) == pytest.approx(2 / 9)
    assert simplest_regret(predicted, measured, np.array([1, 1, 1])) == pytest.approx(2 / 9)


#: Median error and 90th percentile of memory that may not be exceeded; at most so many rows that ran are
#: refused, half of them Megatron-Bridge's, six at 102 %; and at least so many that did not are called.
MEMORY = {"median_ape": 0.04, "p90_ape": 0.14}
REFUSED, CALLED = 21, 255


def test_memory_is_held(public: dict[str, Any]) -> None:
    found = public["memory"]
    assert {name: found[name] for name in MEMORY if found[name] > MEMORY[name]} == {}
    assert public["oom"]["refused"] <= REFUSED and public["oom"]["called_oom"] >= CALLED


#: Reached: 79 % of the runs in their band; log loss 0.081 of all runs and 0.101 of Hagemann's sweep, whose
#: worst fifty runs are off by 10 points.
IN_BAND, LOG_LOSS, OF_A_SWEEP, WORST_FIFTY = (0.75, 0.88), 0.1, 0.12, 0.12


def test_bands_and_risks_are_held(public: dict[str, Any]) -> None:
    assert IN_BAND[0] <= public["overall"]["in_band"] <= IN_BAND[1]
    found = public["risk"]
    assert found["log_loss"] <= LOG_LOSS and found["brier"] <= 0.025
    sweep = found["by_source"]["Hagemann 2311.05610 sweep"]
    assert sweep["log_loss"] <= OF_A_SWEEP and sweep["worst_fifty"] <= WORST_FIFTY
    for each in found["reliability"]:
        if each["n"] >= 50:
            assert each["observed"] == pytest.approx(each["predicted"], abs=0.15)


def test_documents_show_it(public: dict[str, Any], update: bool) -> None:
    if update:
        document_tables.write(public)
    renewed = filled_among(document_tables.PAGES, document_tables.tables(public))
    assert {page: page.read_text() for page in renewed} == renewed


def test_every_line_is_priced_or_named(public: dict[str, Any]) -> None:
    with accuracy.DATA.open() as file:
        lines = sum(1 for _ in csv.DictReader(file))
    memory, left_open = public["oom"], public["overall"]["open"]["n"]
    apart = left_open + sum(each["n"] for each in public["simulated"].values())
    without_time = 2  # rows that ran out of memory and leave fields open
    priced = memory["oom_rows"] + memory["ran_rows"] + apart + without_time
    assert priced + sum(public["skipped"].values()) == lines


def test_the_report_has_its_form(public: dict[str, Any]) -> None:
    four = {"n", "median_ape", "p90_ape", "bias"}
    assert four <= set(public["overall"]["rows"])
    assert all(four | {"coverage"} <= set(each) for each in public["by_source"].values())
    assert all(
        {"source", "job", "n", "spearman", "regret"} <= set(each) and each["n"] >= 4
        for each in public["groups"]
    )
    assert set(public["oom"]) == {"oom_rows", "called_oom", "ran_rows", "refused"}
    json.dumps(public, allow_nan=False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gpus": "-128"}, "impossible `gpus`"),
        ({"gpus": "many"}, "`gpus` is not a number"),
        ({"gpus": "12.5"}, "`gpus` is not a whole number"),
        ({"gpus": "1_28"}, "`gpus` is not a number"),
        ({"gpus": "１２"}, "`gpus` is not a number"),
        ({"gpus": "1e14"}, "impossible `gpus`"),
        ({"zero_stage": "4"}, "impossible `zero_stage`"),
        ({"oom": "7"}, "impossible `oom`"),
        ({"seq_len": "1e15"}, "impossible `seq_len`"),
        ({"mbs": "1e14"}, "impossible `global_batch`"),
        ({"gpus": ""}, "number of GPUs not stated"),
        ({"step_time_s": "nan"}, "impossible `step_time_s`"),
        ({"step_time_s": "-3"}, "impossible `step_time_s`"),
        ({"layers": "0"}, "impossible `layers`"),
        ({"layers": "99999"}, "impossible `layers`"),
        ({"layers": "", "model": "GPT-8B"}, "model dimensions not stated"),
        ({"hidden": "4095"}, "impossible dimensions: hidden is no multiple of heads"),
        ({"gpu": "Z9000"}, "unknown GPU `Z9000`"),
        ({"gpu": "A100"}, "GPU `A100` may be A100-40 or A100-80 or A100-PCIE-40 or A100-PCIE-80"),
        ({"gpu": ""}, "GPU not stated"),
        ({"gpu": "TPUv5p"}, "TPU rows are context only"),
        ({"source": "guide: advice"}, "advice or arithmetic, not a measurement"),
        ({"tflops_per_gpu": ""}, "no time, memory or out-of-memory mark"),
        ({"tflops_per_gpu": "450"}, "measured speed is above the GPUs' peak"),
        ({"tflops_per_gpu": "", "mfu": "47"}, "impossible `mfu`"),
        ({"flops_convention": "guess"}, "unknown flops_convention `guess`"),
        ({"dp": "31"}, "impossible layout: tp * pp * cp * dp is not the number of GPUs"),
        ({"tp": ""}, "layout not stated"),
        ({"gbs": "500"}, "impossible batch: no multiple of dp"),
        ({"gbs": ""}, "global batch not stated"),
        ({"pp": "64", "gpus": "8192"}, "impossible layout: more pipeline stages than layers"),
        (
            {"experts": "10", "topk": "2", "ep": "3"},
            "impossible layout: experts are no multiple of ep",
        ),
        ({"recompute": "some"}, "unknown recompute `some`"),
        (
            {"framework_version": "latest"},
            "framework_version `latest` is neither a tag nor a month",
        ),
        ({"gpu_part": "a100_500w"}, "unknown gpu_part `a100_500w`"),
        ({"gpu_part": "h100_500w_hbm2e"}, "gpu_part `h100_500w_hbm2e` contradicts GPU `A100-80`"),
        ({"gpu_part": "a800"}, "gpu_part `a800` contradicts GPU `A100-80`"),
        ({"attention": "quick"}, "unknown attention `quick`"),
        ({"attention_kernel": "fa9"}, "unknown attention_kernel `fa9`"),
        ({"attention_kernel": "fa2"}, "attention `unfused` contradicts attention_kernel `fa2`"),
        (
            {"gpu": "V100-32", "attention": "flash", "attention_kernel": "te"},
            "attention_kernel `te` does not run on v100_32",
        ),
        (
            {"attention": "", "attention_kernel": "fa3"},
            "attention_kernel `fa3` does not run on a100_80",
        ),
        ({"norm_kernel": "triton"}, "unknown norm_kernel `triton`"),
        ({"tp_overlap": "yes"}, "`tp_overlap` is not a number"),
        ({"dp_overlap": "2"}, "impossible `dp_overlap`"),
        ({"cuda_graph": "0.5"}, "`cuda_graph` is not a whole number"),
        ({"grad_dtype": "fp8"}, "unknown grad_dtype `fp8`"),
        ({"fp8_recipe": "blockwise"}, "unknown fp8_recipe `blockwise`"),
        ({"fp8_recipe": "delayed"}, "fp8_recipe `delayed` contradicts precision `fp16`"),
        ({"mtp_layers": "37"}, "impossible `mtp_layers`: more than layers"),
        ({"recompute_layers": "37"}, "impossible `recompute_layers`: more than layers"),
        ({"dense_layers": "-1"}, "impossible `dense_layers`"),
        ({"cluster": "basement"}, "unknown cluster `basement`"),
        ({"mem_gb": "10", "mem_unit": "MB"}, "unknown mem_unit `mb`"),
        ({"optimizer": "lion"}, "unknown optimizer `lion`"),
        ({"precision": "mxfp4"}, "precision `mxfp4` is not in the language"),
        ({"precision": "nvfp4"}, "a100_80 has no nvfp4 rate"),
        ({"precision": "fp8"}, "a100_80 has no fp8 rate"),
    ],
)
def test_a_row_that_cannot_be_priced_is_named(
    tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    found = scored(tmp_path, GOOD, {**GOOD, **change})
    assert found["skipped"] == {reason: 1}
    assert found["oom"]["ran_rows"] == 1


def test_a_ragged_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.csv", GOOD)
    path.write_text(path.read_text() + "a,b\n")
    found = accuracy.report(accuracy.score(path))
    assert found["skipped"] == {"line has another number of fields than the header": 1}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b"\0\0", "no column source"),
        (";".join(GOOD).encode() + b"\n1;2\n", "fields are separated by commas"),
        (",".join(GOOD).upper().encode() + b"\n1,2\n", "lower case"),
        (
            b",".join([*map(str.encode, GOOD), b"gpus", b"\n1,2"]),
            "column gpus is there more than once",
        ),
        (",".join(GOOD).encode() + b'\n"1,2\n3\n', ":2: unexpected end of data"),
        (",".join(GOOD).encode() + b"\n" + b"x" * 200_000 + b"\n", ":2: field larger"),
        (",".join(GOOD).encode(), "no rows"),
        (b"a,b\n1,2\n", "no column source"),
        (b"\xff\xfe\x00", "byte 1 is no UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, complaint: str
) -> None:
    path = tmp_path / "runs.csv"
    if content is not None:
        path.write_bytes(content)
    assert accuracy.main(["--data", str(path)]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_and_byte_order_mark(tmp_path: Path, prefix: bytes, end: bytes) -> None:
    path = write(tmp_path / "runs.csv", GOOD)
    path.write_bytes(prefix + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", end))
    (run,) = accuracy.score(path).runs
    assert run.row.id == GOOD["id"]


def test_a_column_that_nothing_reads_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, line = write(tmp_path / "runs.csv", GOOD).read_text().splitlines()
    path = tmp_path / "wider.csv"
    path.write_text(f"{header},step_time\n{line},3.5\n")
    assert accuracy.main(["--data", str(path)]) == 0
    assert "nothing reads column `step_time`" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["-1", "x", "1.5"])
def test_a_count_of_rows_that_is_none(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        accuracy.main(["--worst", count])
    assert stopped.value.code == 2
    assert "not a number of rows" in capsys.readouterr().err


def test_nothing_scored_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "runs.csv", {**GOOD, "gpu": "Z9000"})
    assert accuracy.main(["--data", str(path)]) == 1
    assert "unknown GPU `Z9000`  (one)" in capsys.readouterr().out


def test_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "runs.csv", GOOD, {**GOOD, "source": "vTrain", "id": "two"})
    target = tmp_path / "report.json"
    given = ["--data", str(path), "--json", str(target), "--source", "vtrain", "--worst", "5"]
    assert accuracy.main(given) == 0
    document = json.loads(target.read_text())
    assert list(document["by_source"]) == ["vTrain"]
    assert [each["id"] for each in document["worst"]] == ["two"]
    assert "two: " in capsys.readouterr().out


def test_rows_that_leave_fields_open_are_told_apart(tmp_path: Path) -> None:
    """By a range, which slow runs lie above."""
    seconds = str(predict(setup_of(row())).seconds)
    within = {**GOOD, "recompute": "", "step_time_s": seconds}
    slow = {**GOOD, "mbs": "", "tflops_per_gpu": "1.42"}
    found = scored(tmp_path, GOOD, within, slow)["overall"]
    assert (found["rows"]["n"], found["open"]["n"], found["open"]["inside"]) == (1, 2, 0.5)
    assert found["open"]["p90_ape"] > 0.5


def test_a_simulator_s_rows_enter_no_headline(tmp_path: Path) -> None:
    simulated = {**GOOD, "source": "vTrain", "framework": "vtrain-simulator"}
    found = scored(tmp_path, GOOD, *[simulated] * 3)
    assert found["overall"]["rows"]["n"] == 1 and list(found["by_source"]) == [GOOD["source"]]
    assert found["simulated"]["vTrain"]["n"] == 3


def test_a_framework_without_an_entry_is_priced_and_named(tmp_path: Path) -> None:
    found = scored(tmp_path, {**GOOD, "framework": "colossal"}, {**GOOD, "framework": ""}, GOOD)
    assert found["unfamiliar"] == {"colossal": 1, "not stated": 1}
    assert found["overall"]["rows"]["n"] == 3


def test_groups_repeats_and_out_of_memory(tmp_path: Path) -> None:
    layouts = [{"tp": tp, "dp": str(128 // int(tp))} for tp in ("1", "2", "4", "8")]
    rates = ("120", "130", "142", "100")
    rows = [
        {**GOOD, **layout, "tflops_per_gpu": rate, "mbs": "4"}
        for layout, rate in zip(layouts, rates, strict=True)
    ]
    again = {**rows[2], "tflops_per_gpu": "71"}
    dead = {
        **GOOD,
        "tp": "1",
        "dp": "128",
        "mbs": "4",
        "tflops_per_gpu": "",
        "oom": "1",
        "gpu": "A100-40",
    }
    found = scored(tmp_path, *rows, again, dead)
    (group,) = found["groups"]
    # From the fastest, tp 2, 1, 8 and 4 as measured, tp 4 between its two runs; predicted: tp 1, 2, 4, 8.
    assert (group["n"], group["spearman"]) == (4, pytest.approx(1 - 6 * (1 + 1 + 1 + 1) / (4 * 15)))
    assert group["regret"] == pytest.approx(130 / 120 - 1)
    (repeat,) = found["repeats"]
    assert repeat["spread"] == pytest.approx(1.0)
    assert (found["oom"]["oom_rows"], found["oom"]["called_oom"]) == (1, 1)


def test_memory_is_compared_in_the_source_s_unit(tmp_path: Path) -> None:
    seen = predict(setup_of(row(mem_gb="1"))).cached
    found = scored(tmp_path, {**GOOD, "mem_gb": str(seen / 1e9)})
    assert found["memory"]["median_ape"] == pytest.approx(0, abs=1e-6)


def test_rank_correlation_and_regret() -> None:
    measured = np.array([1.0, 2.0, 3.0, 4.0])
    assert spearman(measured**2, measured) == pytest.approx(1)
    assert spearman(-measured, measured) == pytest.approx(-1)
    assert spearman(np.ones(4), measured) == 0
    assert list(ranks(np.array([3.0, 1.0, 3.0]))) == [1.5, 0.0, 1.5]
    assert regret(np.array([3.0, 1.0, 2.0, 4.0]), measured) == pytest.approx(1.0)
    assert math.isclose(regret(np.ones(4), measured), 1.5)
