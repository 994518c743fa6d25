"""measure_steps.py without a GPU: what it would run, and what it makes of output and failures."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.accuracy import accuracy
from benchmarks.gpu import card, measure_steps
from benchmarks.gpu.steps import (
    COUNT,
    GRID,
    SETS,
    SWEEPS,
    Outcome,
    Step,
    job_of,
    outcome,
    row,
    run_step,
    start,
)
from tests.support.paths import ROOT

DATA = ROOT / "benchmarks" / "data" / "measured_fresh.csv"


def step_of(program: str, recompute: str = "none") -> Step:
    return next(step for step in GRID if (step.program, step.recompute) == (program, recompute))


def printed(step: Step, seconds: float, peak: int) -> str:
    line = "step {}/{} | loss 9.1 | {} {:.5f} s/step | {:,.0f} tokens/s\n"
    more = "grad norm 1.0 | lr 3.000e-04 |" if step.program == "deepspeed" else ""
    tokens = step.seq_len * step.micro_batch * step.microbatches
    times = [9 * seconds, 2 * seconds, *[seconds] * (COUNT - 2)]
    steps = (line.format(n, COUNT, more, time, tokens / time) for n, time in enumerate(times, 1))
    return "".join(steps).replace("|  ", "| ") + f"peak_bytes {peak}\n"


@pytest.mark.parametrize("step", [step_of("deepspeed", "full"), step_of("pytorch")])
def test_a_step_is_run_in_a_program_of_its_own(step: Step) -> None:
    """The command exists as it is called: the emitted train.py lies in its folder, arguments are whole."""

    def runner(command: list[str], folder: Path, extra: Mapping[str, str]) -> tuple[int, str]:
        assert command[0] == sys.executable and Path(command[3]).exists()
        assert extra["WORLD_SIZE"] == "1" and "runpy" in command[2]
        if step.program == "deepspeed":
            assert "both_halves" in Path(command[3]).read_text()
            assert (folder / "deepspeed" / "ds_config.json").exists()
        else:
            assert len(command[4:]) == 11 and command[-1] == step.recompute
        return 0, printed(step, 0.25, 5 * 2**30)

    assert run_step(step, "h200", runner) == Outcome(seconds=0.25, peak_bytes=5 * 2**30)


def test_what_goes_wrong_is_told_apart() -> None:
    step = step_of("pytorch")
    job = job_of(step, "h200")
    full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert outcome(job, 1, full) == Outcome(out_of_memory=True)
    missing = outcome(job, 1, "Traceback\nModuleNotFoundError: No module named 'deepspeed'\n\n")
    assert missing.failure == "exit code 1: ModuleNotFoundError: No module named 'deepspeed'"
    assert "too few" in outcome(job, 0, "step 1/9 | loss 1.0 | 0.5 s/step | 9 tokens/s\n").failure
    assert outcome(job, 0, "").failure == "exit code 0: no output"


def test_rows_have_the_form_of_the_public_ones_and_are_priced(tmp_path: Path) -> None:
    """accuracy.py reads the file and prices every line by the framework that ran it."""
    steps = [step_of("deepspeed"), step_of("deepspeed", "full"), step_of("pytorch"), GRID[-1]]

    def run(step: Step, gpu: str) -> Outcome:
        assert gpu == "h200"
        if step is GRID[-1]:
            return Outcome(out_of_memory=True)
        return Outcome(seconds=0.5, peak_bytes=12 * 2**30)

    file = io.StringIO()
    assert measure_steps.write_rows(file, "H200", "fake", date(2026, 11, 20), steps, run) == []
    path = tmp_path / "measured_own.csv"
    path.write_text(file.getvalue())
    header = DATA.open().readline().strip()
    assert path.read_text().splitlines()[0].split(",") == header.split(",")
    lines = list(csv.DictReader(path.open()))
    assert [line["oom"] for line in lines] == ["0", "0", "0", "1"]
    assert lines[0]["step_time_s"] == "0.5" and lines[0]["mem_gb"] == "12.000"
    assert {line["year"] for line in lines} == {"2026"} and "2026-11-20" in lines[0]["where"]
    scored = accuracy.score(path)
    assert len(scored.runs) == 4
    targets = [run.setup.asked.target for run in scored.runs]
    assert targets == ["deepspeed", "deepspeed", "torchtitan", "torchtitan"]


def test_failures_are_told_and_leave_no_row() -> None:
    file = io.StringIO()
    failed = measure_steps.write_rows(
        file, "H200", "fake", date(2026, 1, 2), GRID[:2], lambda *_: Outcome(failure="broken")
    )
    assert len(failed) == 2 and "broken" in failed[0] and len(file.getvalue().splitlines()) == 1


def test_row_names_what_it_measured() -> None:
    step = step_of("pytorch", "full")
    line = row(7, step, Outcome(seconds=1.0), "H200", "fake", 2026)
    assert line["id"] == "own-h200-0007" and line["recompute"] == "full" and line["mem_gb"] == ""


@pytest.mark.parametrize("reason", ["ModuleNotFoundError: No module named 'torch'", "no driver"])
def test_without_a_gpu_it_says_so(
    reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(card, "about", lambda: reason)
    assert measure_steps.main(["rows.csv"]) == 2
    assert f"no CUDA GPU: {reason}" in capsys.readouterr().err


def test_a_gpu_that_the_standard_library_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(card, "about", lambda: ("NVIDIA GeForce RTX 4090", "PyTorch 2"))
    assert measure_steps.main(["rows.csv"]) == 2 and "RTX 4090" in capsys.readouterr().err


@pytest.fixture
def h200(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle H200 that takes half a second for every step."""
    monkeypatch.setattr(card, "about", lambda: ("NVIDIA H200", "PyTorch 2.9, CUDA 12.8"))
    monkeypatch.setattr(card, "used_mib", lambda: 0)
    monkeypatch.setattr(measure_steps, "run_step", lambda *_: Outcome(seconds=0.5))


@pytest.mark.usefixtures("h200")
@pytest.mark.parametrize("steps", SETS)
def test_with_a_gpu_it_writes_rows(steps: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    assert measure_steps.main([str(rows), "--steps", steps]) == 0
    assert len(rows.read_text().splitlines()) == 1 + len(SETS[steps])


@pytest.mark.usefixtures("h200")
def test_when_the_time_is_over_what_is_left_out_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clock that goes on by a second whenever it is read: two of the steps begin within three seconds."""
    seconds = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)))
    monkeypatch.setattr(measure_steps, "time", clock)
    rows = tmp_path / "rows.csv"
    assert measure_steps.main([str(rows), "--seconds", "3"]) == 1
    assert len(rows.read_text().splitlines()) == 1 + 2
    left = f"{len(GRID) - 2} of {len(GRID)} steps left out: the time is over"
    assert left in capsys.readouterr().err


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    code, text = start([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, {}, 0.2)
    assert (code, text) == (124, "no end after 0.2 s")


def test_sweeps_hold_the_micro_batches_between_powers_of_two() -> None:
    """A sweep differs in its micro-batch alone, and no step is there twice."""
    assert len(set(SWEEPS)) == len(SWEEPS)
    sweeps: dict[Step, set[int]] = {}
    for step in SWEEPS:
        sweeps.setdefault(replace(step, micro_batch=1), set()).add(step.micro_batch)
    assert all(found == set(range(1, max(found) + 1)) for found in sweeps.values())
    assert len(sweeps) == 7 and all(max(found) >= 4 for found in sweeps.values())
