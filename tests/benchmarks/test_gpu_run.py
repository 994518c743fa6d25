"""benchmarks/gpu/run.py without a GPU: its jobs, programs that take turns, and the lines that it writes."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path

import pytest

import parc
from benchmarks.accuracy import accuracy
from benchmarks.gpu import card, run
from benchmarks.gpu.emitted_jobs import JOBS, Trained, plan_of, row
from benchmarks.gpu.measure_steps import COLUMNS
from benchmarks.gpu.steps import Outcome
from benchmarks.gpu.turns import Ended, Program, Turn, in_turn

MACHINE = run.Machine("H100-SXM", "fake", date(2026, 11, 27))
TINY = (
    "std.llama3_2_1b { layers = 2; hidden = 64; heads = 4; kv_heads = 4; ffn = 128; vocab = 256 }"
)
TWO = tuple(Trained(f"d-{n}", "tiny", TINY, "deepspeed", 64, 2, n) for n in (2, 4))
#: PyTorch as far as the gate asks it.
TORCH = """
class cuda:
    is_available = is_initialized = staticmethod(lambda: True)
    max_memory_reserved = staticmethod(lambda: 7 * 2**30)
"""
#: An entry script: a launcher that is no rank, and a rank that notes when it trains.
SCRIPT = """
python3 -c 'pass'
LOCAL_RANK=0 python3 -c 'import time, sys
print("begins", time.monotonic(), flush=True); time.sleep({seconds}); print("ends", time.monotonic())
sys.exit({code})' "$@"
"""


def log_text(steps: int = 20, seconds: float = 0.5) -> str:
    line = "step {}/{} | loss 9.1 | grad norm 1.0 | lr 3.000e-04 | {:.5f} s/step | 900 tokens/s\n"
    return "".join(line.format(each, steps, seconds) for each in range(1, steps + 1))


def test_every_job_is_emitted_and_its_line_is_priced_as_its_plan(tmp_path: Path) -> None:
    """accuracy.py's price of a line is that of the plan whose files run: the same kernels, loss and norms."""
    jobs = [each for each in JOBS if each.target != "accelerate"]  # the CSV has no such stack
    plans = {each.name: plan_of(each, "h100_sxm") for each in jobs}
    file = tmp_path / "trained.csv"
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS)
        writer.writeheader()
        for each in jobs:
            result = Outcome(seconds=0.5, peak_bytes=2**35)
            writer.writerow(row(each, plans[each.name], result, "H100-SXM", "fake", 2026, 2**36))
    scored = {each.row.id.removeprefix("own-h100-sxm-"): each for each in accuracy.score(file).runs}
    assert set(scored) == set(plans) and len(plans) == 14
    for name, plan in plans.items():
        priced = scored[name].prediction.seconds
        assert priced == pytest.approx(plan.estimate.step_seconds, rel=1e-6), name


def test_prepared_folders_are_whole(tmp_path: Path) -> None:
    """What `--prepare` writes: launch files, plan.json, and the job, whose digest plan.json has."""
    assert run.main([str(tmp_path), "--prepare", "h100_sxm", "--jobs", "t-1b,d-1b-hf"]) == 0
    for name, entry in (("t-1b", "torchtitan"), ("d-1b-hf", "deepspeed")):
        folder = tmp_path / "jobs" / name
        assert (folder / entry / "launch.sh").exists()
        digest = parc.load(folder / f"{name}.par").digest
        assert f'"sha256": "{digest}"' in (folder / "plan.json").read_text()
    with pytest.raises(SystemExit, match="no job is called t-2b; there are t-1b, d-1b"):
        run.main([str(tmp_path), "--prepare", "h100_sxm", "--jobs", "t-2b"])


def test_each_line_is_written_once_and_what_failed_is_named(tmp_path: Path) -> None:
    """A second call trains what the first did not."""
    asked: list[str] = []

    def trains(programs: Sequence[Program]) -> Iterator[tuple[Program, Ended]]:
        for each, end in zip(programs, ends, strict=False):
            asked.append(each.name)
            assert each.script.exists() and "--log-interval=1" in each.arguments
            yield each, end

    ends = [Ended(0, log_text(), 3 * 2**30, 4 * 2**30), Ended(1, "boom\nValueError: no\n")]
    assert run.train(TWO, tmp_path, MACHINE, trains) == ["d-4: exit code 1: ValueError: no"]
    ends = [Ended(1, "torch.OutOfMemoryError: CUDA out of memory.")]
    assert run.train(TWO, tmp_path, MACHINE, trains) == []
    ends = []
    assert run.train(TWO, tmp_path, MACHINE, trains) == []
    assert asked == ["d-2", "d-4", "d-4"]
    first, second = csv.DictReader((tmp_path / "trained.csv").open(newline=""))
    assert (first["step_time_s"], first["mem_gb"], first["oom"]) == ("0.5", "3.000", "0")
    assert "device 4.00 GiB" in first["notes"] and (second["step_time_s"], second["oom"]) == (
        "",
        "1",
    )


def test_jobs_of_the_trainer_have_a_file_of_their_own(tmp_path: Path) -> None:
    """Adapters beside drawn weights too; a second call trains none again."""
    jobs = [each for each in JOBS if each.target == "accelerate"]
    assert any("tune = lora" in each.train for each in jobs)
    line = "step {0} of 20: loss 9.1, grad norm 1.0, lr 3.000e-04, {1:.3f} s a step, 900 tokens/s\n"
    said = "layout pp=1 dp_shard=1 zero=2 micro_batch=2 gpus=1 recompute=none\n"
    text = said + "".join(line.format(step, 0.5) for step in range(1, 21))

    def trains(programs: Sequence[Program]) -> Iterator[tuple[Program, Ended]]:
        return ((each, Ended(0, text, 3 * 2**30, 4 * 2**30)) for each in programs)

    assert run.train(jobs, tmp_path, MACHINE, trains) == []
    assert run.train(jobs, tmp_path, MACHINE, trains) == []
    lines = list(csv.DictReader((tmp_path / "tuned.csv").open(newline="")))
    assert [each["name"] for each in lines] == [each.name for each in jobs]
    assert {(each["seconds"], each["reserved_gib"]) for each in lines} == {("0.5", "3.000")}


def test_jobs_without_time_are_counted(tmp_path: Path) -> None:
    assert run.train(TWO, tmp_path, MACHINE, lambda programs: iter(())) == [
        "2 of 2 jobs left out: the time is over"
    ]


def program(folder: Path, name: str, seconds: float, code: int = 0) -> Program:
    (folder / "fake").mkdir(exist_ok=True)
    (folder / "fake" / "torch.py").write_text(TORCH)
    script = folder / f"{name}.sh"
    script.write_text(SCRIPT.format(seconds=seconds, code=code))
    own = os.pathsep.join([str(folder / name), str(folder / "fake")])
    return Program(name, "none", script, (), (("PYTHONPATH", own),))


def moments(text: str) -> tuple[float, float]:
    begins, ends = (float(line.split()[1]) for line in text.splitlines())
    return begins, ends


def test_programs_train_one_after_another_and_start_ahead(tmp_path: Path) -> None:
    """While one trains the next has started and waits; none begins before the GPU is empty."""
    programs = [program(tmp_path, name, 0.3) for name in ("a", "b", "c")]
    asked: list[float] = []

    def empty() -> bool:
        asked.append(time.monotonic())
        return True

    ended = list(in_turn(programs, tmp_path, empty, lambda: 512, 60))
    assert [(each.name, end.code, end.reserved, end.device) for each, end in ended] == [
        (name, 0, 7 * 2**30, 2**29) for name in ("a", "b", "c")
    ]
    times = [moments(end.text) for _, end in ended]
    assert all(before[1] < after[0] for before, after in zip(times, times[1:], strict=False))
    assert all(when < begins for when, (begins, _) in zip(asked, times, strict=True))


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    turn = Turn(program(tmp_path, "a", 600), tmp_path / "a", 29_511)
    ended = turn.take(0.5, lambda: 0, wait=0.1)
    assert ended.code == 124 and "no end after" in ended.text and turn.ready
    assert turn.process.poll() is not None


def test_a_failed_program_and_a_gpu_in_use_stop_no_other(tmp_path: Path) -> None:
    programs = [program(tmp_path, "a", 0, code=3), *(program(tmp_path, n, 0) for n in ("b", "c"))]
    free = iter([True, False, True])
    ended = [end for _, end in in_turn(programs, tmp_path, lambda: next(free), lambda: 0, 60)]
    assert [each.code for each in ended] == [3, 1, 0] and ended[1].text == "the GPU is in use"


def test_none_begins_after_the_time_and_none_stays_behind(tmp_path: Path) -> None:
    programs = [program(tmp_path, name, 0) for name in ("a", "b", "c")]
    over = iter([False, True])
    turns = in_turn(programs, tmp_path, lambda: True, lambda: 0, 60, lambda: next(over))
    assert [each.name for each, _ in turns] == ["a"]
    assert not (tmp_path / "b" / "turn").exists()


def test_without_a_gpu_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(card, "about", lambda: "no driver")
    assert run.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == "run: no CUDA GPU: no driver\n"
    monkeypatch.setattr(card, "about", lambda: ("Voodoo 2", "PyTorch 2.11"))
    assert run.main([str(tmp_path)]) == 2
    assert "the standard library has no `Voodoo 2`" in capsys.readouterr().err


def test_the_whole_probes_then_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command: rows of the probe, the jobs' lines; a probe that fails is told and stops nothing."""
    probed: list[tuple[Path, float]] = []

    def probe(folder: Path, minutes: float) -> str:
        probed.append((folder, minutes))
        return "the probe did not run to its end"

    def turns(programs: Sequence[Program], **_: object) -> Iterator[tuple[Program, Ended]]:
        return ((each, Ended(0, log_text(), 2**30)) for each in programs)

    monkeypatch.setattr(card, "about", lambda: ("NVIDIA H100 80GB HBM3", "PyTorch 2.11"))
    monkeypatch.setattr(card, "used_mib", lambda: 0)
    monkeypatch.setattr(run, "in_turn", partial(turns))
    monkeypatch.setattr(run, "probe", probe)
    assert run.main([str(tmp_path), "--jobs", "d-1b"]) == 1
    assert probed == [(tmp_path, run.PROBE_MINUTES)]
    (line,) = csv.DictReader((tmp_path / "trained.csv").open(newline=""))
    assert line["id"].endswith("d-1b") and line["mem_gb"] == "1.000"
