"""measure_gpu.py without a GPU: what it would time, and what it makes of times, output and failures."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

import parc
from benchmarks.accuracy import accuracy
from benchmarks.gpu import measure_gpu
from benchmarks.gpu.shapes import (
    ATTENTIONS,
    COPIES,
    PRODUCTS,
    Attention,
    Measured,
    Product,
    fitted,
    measure,
)
from benchmarks.gpu.steps import COUNT, STEPS, Outcome, Step, job_of, outcome, row, run_step
from parc.dsl import std_gpu
from tests.support.paths import ROOT

H200 = std_gpu("h200")
DATA = ROOT / "benchmarks" / "data" / "measured_public.csv"


class FakeClock:
    """A GPU of known efficiencies: a kernel takes its share of peak, and never less than a launch."""

    def __init__(self, measured: Measured):
        self.measured = measured

    def product(self, shape: Product) -> float:
        assert H200.bf16
        return self.measured.kernel_launch + shape.flops / (
            H200.bf16 * self.measured.matmul_efficiency
        )

    def attention(self, shape: Attention) -> float:
        assert H200.bf16
        return shape.flops / (H200.bf16 * self.measured.attention_efficiency)

    def copy(self, moved_bytes: int) -> float:
        return 2 * moved_bytes / (H200.memory_bandwidth * self.measured.memory_efficiency)

    def launch(self) -> float:
        return self.measured.kernel_launch


TRUE = Measured(0.71, 0.55, 0.88, 3.5e-6)


def test_the_fake_gpu_comes_back_as_a_block_that_a_job_takes(tmp_path: Path) -> None:
    text = measure_gpu.block(measure(FakeClock(TRUE)), "H200", "a fake, 2026-11-20")
    (tmp_path / "gpu.par").write_text(text)
    (tmp_path / "job.par").write_text(
        'import "gpu.par"\nmodel m from std.llama3_8b {}\n'
        "cluster c from std.dgx_h200 { gpu = h200_measured }\n"
        "train { seq_len = 4096; global_batch = 64; steps = 10 }\ntarget megatron {}\n"
    )
    gpu = parc.load(tmp_path / "job.par").cluster.gpu
    assert gpu.matmul_efficiency == pytest.approx(TRUE.matmul_efficiency, rel=0.02)
    assert gpu.attention_efficiency == pytest.approx(TRUE.attention_efficiency, rel=0.01)
    assert gpu.memory_efficiency == pytest.approx(TRUE.memory_efficiency, rel=0.01)
    assert gpu.kernel_launch == pytest.approx(TRUE.kernel_launch, rel=0.01)
    assert gpu.memory == H200.memory and "a fake" in text


def test_a_gpu_faster_than_its_name_is_refused() -> None:
    assert H200.bf16
    timed = measure(FakeClock(TRUE))
    with pytest.raises(ValueError, match="matmul_efficiency would be 1.4"):
        fitted(timed, H200.bf16 / 2, H200.memory_bandwidth)
    with pytest.raises(ValueError, match="nothing large enough was measured of: copy"):
        fitted([each for each in timed if each.what != "copy"], H200.bf16, H200.memory_bandwidth)


def test_what_is_measured_covers_small_and_large() -> None:
    timed = measure(FakeClock(TRUE))
    for what, shapes in (("product", PRODUCTS), ("attention", ATTENTIONS), ("copy", COPIES)):
        of = [each for each in timed if each.what == what]
        assert len(of) == len(shapes) and len({each.shape for each in of}) == len(of)
        assert {each.large for each in of} == {True, False}
    assert "product" in measure_gpu.report(timed)


def step_of(program: str, recompute: str = "none") -> Step:
    return next(step for step in STEPS if (step.program, step.recompute) == (program, recompute))


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
    steps = [step_of("deepspeed"), step_of("deepspeed", "full"), step_of("pytorch"), STEPS[-1]]

    def run(step: Step, gpu: str) -> Outcome:
        assert gpu == "h200"
        if step is STEPS[-1]:
            return Outcome(out_of_memory=True)
        return Outcome(seconds=0.5, peak_bytes=12 * 2**30)

    file = io.StringIO()
    assert measure_gpu.write_rows(file, "H200", "fake", date(2026, 11, 20), steps, run) == []
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
    failed = measure_gpu.write_rows(
        file, "H200", "fake", date(2026, 1, 2), STEPS[:2], lambda *_: Outcome(failure="broken")
    )
    assert len(failed) == 2 and "broken" in failed[0] and len(file.getvalue().splitlines()) == 1


def test_row_names_what_it_measured() -> None:
    step = step_of("pytorch", "full")
    line = row(7, step, Outcome(seconds=1.0), "H200", "fake", 2026)
    assert line["id"] == "own-h200-0007" and line["recompute"] == "full" and line["mem_gb"] == ""


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert measure_gpu.main([]) == 2
    assert "no CUDA GPU: PyTorch is not installed" in capsys.readouterr().err


def test_a_torch_without_a_gpu_or_with_an_unknown_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class NoCuda:
        class cuda:
            @staticmethod
            def is_available() -> bool:
                return False

    monkeypatch.setitem(sys.modules, "torch", NoCuda)
    assert measure_gpu.main([]) == 2
    assert "no CUDA GPU: PyTorch finds none" in capsys.readouterr().err
    monkeypatch.setattr(measure_gpu, "cuda", lambda: ("NVIDIA GeForce RTX 4090", "PyTorch 2"))
    assert measure_gpu.main([]) == 2 and "RTX 4090" in capsys.readouterr().err


def test_with_a_gpu_it_writes_both_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure_gpu, "cuda", lambda: ("NVIDIA H200", "PyTorch 2.9, CUDA 12.8"))
    monkeypatch.setattr(measure_gpu, "clock", lambda: FakeClock(TRUE))
    monkeypatch.setattr(measure_gpu, "STEPS", STEPS[:1])
    monkeypatch.setattr(measure_gpu, "run_step", lambda *_: Outcome(seconds=0.5))
    block, rows = tmp_path / "gpu.par", tmp_path / "rows.csv"
    assert measure_gpu.main(["--block", str(block), "--rows", str(rows)]) == 0
    assert "gpu h200_measured from std.h200" in block.read_text()
    assert len(rows.read_text().splitlines()) == 2
    assert "matmul_efficiency" in capsys.readouterr().out
