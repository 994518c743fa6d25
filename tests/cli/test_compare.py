"""`parc compare` as a user runs it: jobs, plans, folders and launch files side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import JOB, Parc

TITAN = "out/torchtitan/launch.sh"


@pytest.fixture
def compiled(run: Parc) -> Parc:
    """The same folder, with what `parc compile` wrote for the job."""
    assert run("compile", "job.par", "-o", "out").code == 0
    return run


def test_a_job_its_folder_and_its_script_are_the_same(compiled: Parc) -> None:
    subjects = ("job.par", "out", "out/plan.json", "out/megatron/pretrain.sh")
    found = compiled("compare", *subjects, "--target", "megatron", "--json")
    assert found.code == 0 and found.err == ""
    value = json.loads(found.out)
    kinds = [each["kind"] for each in value["subjects"]]
    assert kinds == ["job", "plan", "plan", "launch files"]
    first, *others = [each["estimate"] for each in value["subjects"]]
    for other in others:
        for name in ("layout", "step_seconds", "mfu", "tflops_per_gpu", "memory_bytes", "time"):
            assert other[name] == first[name], name
    assert value["settings"] == {"megatron": {}}


def test_what_differs_is_told(compiled: Parc) -> None:
    Path("longer.par").write_text(JOB.replace("seq_len = 1024", "seq_len = 2048"))
    found = compiled("compare", "job.par", "longer.par", "--target", "megatron")
    assert found.code == 0
    lines = [" ".join(line.split()) for line in found.out.splitlines()]
    assert lines[:2] == ["A job.par (job)", "B longer.par (job)"]
    assert "--seq-length 1024 → 2048" in lines
    assert any(line.startswith("time of a step, s") for line in lines)


def test_of_which_peak_mfu_is_stands_where_peaks_differ(compiled: Parc) -> None:
    Path("fp8.par").write_text(JOB.replace("seq_len", "precision = fp8; seq_len"))
    same = compiled("compare", "job.par", "out", "--target", "megatron")
    assert "peak, TFLOP/s" not in same.out
    for subjects in (("job.par", "fp8.par"), ("out", "fp8.par")):
        found = compiled("compare", *subjects, "--target", "megatron")
        lines = [" ".join(line.split()) for line in found.out.splitlines()]
        assert lines.index("peak, TFLOP/s 989 1,979") == lines.index("precision bf16 fp8") + 1


def test_a_plan_that_tells_of_no_peak_is_compared_all_the_same(compiled: Parc) -> None:
    Path("fp8.par").write_text(JOB.replace("seq_len", "precision = fp8; seq_len"))
    written = json.loads(Path("out/plan.json").read_text())
    for older in ({}, {"peak": None}, {"peak": {"precision": 8}}):
        job = {key: value for key, value in written["job"].items() if key != "peak"}
        plans = [
            {key: value for key, value in plan.items() if not key.endswith("_per_gpu")}
            for plan in written["plans"]
        ]
        text = json.dumps({**written, "job": {**job, **older}, "plans": plans})
        Path("out/plan.json").write_text(text)
        found = compiled("compare", "out", "fp8.par", "--target", "megatron")
        assert found.code == 0 and "peak, TFLOP/s" not in found.out
        rows = [line.split() for line in found.out.splitlines() if "/s/GPU" in line]
        assert [row[0] for row in rows] == ["tokens/s/GPU", "TFLOP/s/GPU"]
        assert all(row[1] == "–" != row[2] for row in rows)


@pytest.mark.parametrize(("columns", "tables"), [(80, 2), (120, 1)])
def test_columns_fit_the_terminal(
    compiled: Parc, columns: int, tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    subjects = ["out"] * 1 + [f"out/./{'./' * n}plan.json" for n in range(4)]
    out = compiled("compare", *subjects).out
    assert max(map(len, out.splitlines())) <= columns
    assert out.count("\ntarget ") == tables


def test_launch_files_alone_are_priced_on_a_cluster(compiled: Parc) -> None:
    plain = compiled("compare", "out", TITAN)
    assert plain.code == 0 and "no price: name a job too, or the cluster" in plain.out
    priced = compiled(
        "compare", "out", TITAN, "--cluster", "std.dgx_h100", "--target", "torchtitan"
    )
    assert priced.code == 0 and "no price" not in priced.out
    step = next(line.split() for line in priced.out.splitlines() if line.startswith("step"))
    assert step[1:3] == step[3:5]


def test_another_batch_is_told(compiled: Parc) -> None:
    subjects = ("job.par", TITAN, "--set", "train.global_batch=128")
    out = " ".join(compiled("compare", *subjects).out.split())
    assert f"`{TITAN}` has global_batch 64, and is priced with the job's 128" in out


def test_another_model_has_no_price_on_the_job(compiled: Parc) -> None:
    Path("deeper.par").write_text(JOB.replace("layers = 4", "layers = 8"))
    out = " ".join(compiled("compare", "deeper.par", TITAN).out.split())
    assert f"`{TITAN}` trains a model with layers 4, the job's has 8" in out


@pytest.mark.parametrize(
    ("subjects", "code", "message"),
    [
        (["job.par"], "PAR181", "there is nothing to compare with"),
        (["job.par", "job.par"], "PAR181", "there is nothing to compare with"),
        (["job.par", "gone.sh"], "PAR002", "there is no file `gone.sh`"),
        (["job.par", "empty/plan.json"], "PAR180", "`empty/plan.json` cannot be read"),
        (["job.par", "bad/plan.json"], "PAR180", "`bad/plan.json` holds no plan of parc"),
        (["job.par", "other/plan.json"], "PAR180", "`other/plan.json` holds no plan of parc"),
        (["job.par", "listed/plan.json"], "PAR180", "`listed/plan.json` holds no plan of parc"),
        (["job.par", "bad"], "PAR180", "`bad/plan.json` holds no plan of parc"),
        (["job.par", "out", "--target", "deepspeed"], "PAR092", "no target `deepspeed`"),
        (
            ["out", "out/plan.json", "--target", "deepspeed"],
            "PAR180",
            "has no plan for `deepspeed`",
        ),
        (["job.par", "wrong.par"], "PAR0", "layer"),
        (["job.par", "impossible.par"], "PAR151", "require memory <= 1 MiB"),
        (["job.par", "out", "--cluster", "std.nowhere"], "PAR094", "no cluster `std.nowhere`"),
    ],
)
def test_what_cannot_be_compared(
    compiled: Parc, subjects: list[str], code: str, message: str
) -> None:
    for name, text in (("bad", "[1, {"), ("other", '{"plans": [{"target": "megatron"}]}')):
        Path(name).mkdir()
        Path(name, "plan.json").write_text(text)
    plans = json.loads(Path("out/plan.json").read_text())
    plans["plans"][0]["measured"] = [1]
    Path("listed").mkdir()
    Path("listed/plan.json").write_text(json.dumps(plans))
    found = compiled("compare", *subjects)
    assert found.code == 2 and found.out == ""
    assert f"[{code}" in found.err and message in found.err
