"""parc smoke without a framework: what is shrunk, how layouts are cut, how a run is followed and ended."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.backends import BACKENDS
from parc.backends.deepspeed.options import Options
from parc.backends.torchtitan.options import Options as TitanOptions
from parc.compiler.model.parameters import total
from parc.compiler.plan import Layout
from parc.dsl.job import Model, Train
from parc.smoke import Interpreter, Outcome, Request, prepare, smoke, steps_of
from parc.smoke.guard import GONE_SECONDS, MARK, marked
from parc.smoke.layout import cuts
from parc.smoke.model import LONG_SEQUENCE, PARAMETERS, SEQUENCE, small_model, small_train
from parc.smoke.processes import Line, guarded, new_mark, run
from parc.smoke.shrink import Room, not_exercised, shrunken
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.paths import ROOT
from tests.support.sample_plans import (
    DEEPSEEK_V3,
    GPT_125M,
    LLAMA3_8B,
    LLAMA3_405B,
    MIXTRAL_8X7B,
    QWEN3_8B,
    sample_plan,
)

HERE = Interpreter(sys.executable, {"torch": "2", "torchtitan": "0.2.2", "deepspeed": "0"}, 0)
MODELS = (LLAMA3_8B, LLAMA3_405B, GPT_125M, QWEN3_8B, MIXTRAL_8X7B, DEEPSEEK_V3)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("stages", [1, 4])
def test_a_small_model_has_the_same_structure(model: Model, stages: int) -> None:
    small = small_model(model, 4096, stages, SEQUENCE)
    kept = (
        "heads",
        "kv_heads",
        "gated",
        "norm",
        "position",
        "bias",
        "tied",
        "qk_norm",
        "moe",
        "mla",
    )
    assert {name: getattr(small, name) for name in kept} == {
        name: getattr(model, name) for name in kept
    }
    assert small.layers >= stages and total(small, seq_len=SEQUENCE) < 3 * PARAMETERS
    assert small.vocab % 2 == model.vocab % 2 and small.hidden % 16 == 0
    wide = model.hidden == model.heads * model.head_size
    assert model.mla or wide == (small.hidden == small.heads * small.head_size)
    assert Model(**small.model_dump()) == small


def test_layers_stay_uneven_and_all_while_they_are_affordable() -> None:
    assert small_model(GPT_125M, 2048, 1, SEQUENCE).layers == 12
    assert small_model(LLAMA3_405B, 8192, 4, SEQUENCE).layers % 4 != 0
    assert small_model(LLAMA3_8B, 8192, 4, SEQUENCE).layers % 4 == 0


def test_windows_and_positions_follow_the_length() -> None:
    windowed = LLAMA3_8B.model_copy(update={"window": 1024, "max_positions": 8192})
    small = small_model(windowed, 4096, 1, 2 * SEQUENCE)
    assert small.window == SEQUENCE // 2 and small.max_positions == 2 * SEQUENCE
    assert small_model(windowed, 1024, 1, SEQUENCE).window == SEQUENCE


def test_a_cpu_trains_in_bf16() -> None:
    train = Train(seq_len=4096, global_batch=8, tokens=10**9, precision="fp8", compile=True)
    small = small_train(train, 6, SEQUENCE, 4, gpus=False)
    assert (small.precision, small.compile, small.total_steps) == ("bf16", False, 6)
    on_gpus = small_train(train, 6, SEQUENCE, 4, gpus=True)
    assert (on_gpus.precision, on_gpus.compile) == ("fp8", True)


BIG = Layout(tp=8, pp=4, vpp=2, dp_shard=16, zero=1, micro_batch=4, microbatches=32)


@pytest.mark.parametrize(
    ("processes", "degrees"),
    [
        (1, (1, 1, 1)),
        (2, (2, 1, 1)),
        (4, (2, 2, 1)),
        (8, (2, 2, 2)),
        (16, (4, 2, 2)),
        (1000, (4, 8, 16)),
    ],
)
def test_the_most_telling_degrees_are_kept(processes: int, degrees: tuple[int, int, int]) -> None:
    best = cuts(BIG, processes)[0]
    assert (best.pp, best.tp, best.dp_shard) == degrees
    assert best.gpus <= processes and best.nodes == 1 and best.micro_batch == 2
    assert best.vpp == (2 if best.pp > 1 else 1)


def test_every_cut_divides_the_layout_and_fits() -> None:
    layout = Layout(tp=6, dp_replicate=3, dp_shard=4, cp=2, ep=4, etp=1, zero=3)
    for cut in cuts(layout, 8):
        assert cut.gpus <= 8
        for name in ("tp", "dp_replicate", "dp_shard", "cp", "ep"):
            assert getattr(layout, name) % getattr(cut, name) == 0


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("processes", [2, 8])
def test_every_example_can_be_shrunk(example: str, processes: int, tmp_path: Path) -> None:
    for plan in compiled(example).plans:
        folder = tmp_path / plan.target
        folder.mkdir()
        ready = prepare(plan, Request(HERE, processes, 5), folder)
        assert ready is not None
        small = ready.plan.layout
        assert small.gpus <= processes and small.recompute == plan.layout.recompute
        assert ready.plan.job.train.total_steps == 5
        assert (folder / BACKENDS[plan.target].entry).exists()
        assert any("full width" in text for text in not_exercised(plan, ready.plan, gpus=False))


def test_a_job_that_no_cut_makes_runnable_has_none() -> None:
    plan = sample_plan("deepspeed", layout=Layout(dp_shard=8, zero=1, microbatches=16))
    unknown = Options(extra={"zero_optimisation.stage": 1})
    assert shrunken(plan, BACKENDS["deepspeed"].target, Room(2, 4), unknown) is None


def test_context_parallelism_gets_sequences_that_are_cut() -> None:
    layout = Layout(cp=4, dp_shard=2, zero=3, microbatches=2)
    train = Train(seq_len=16384, global_batch=4, steps=9)
    options = TitanOptions(version="0.3")
    plan = sample_plan("torchtitan", options, layout=layout, train=train)
    small = shrunken(plan, BACKENDS["torchtitan"].target, Room(4, 4), options)
    assert small is not None and small.layout.cp == 2
    assert small.job.train.seq_len == 2 * LONG_SEQUENCE


LOGS = {
    "torchtitan": "[titan] 2026-01-01 - root - INFO - step:  3  loss:  5.12345  grad_norm:  1.2",
    "deepspeed": "step 3/8 | loss 5.12345 | grad norm 1.2 | lr 1e-3",
    "megatron": " iteration        3/       8 | consumed samples: 24 | lm loss: 5.12345E+00 |",
}


@pytest.mark.parametrize("target", LOGS)
def test_steps_are_read_once_from_every_framework_s_log(target: str) -> None:
    lines = [
        Line(1.0, "noise"),
        Line(2.0, f"\x1b[32m{LOGS[target]}\x1b[0m"),
        Line(3.0, LOGS[target]),
    ]
    (step,) = steps_of(lines, BACKENDS[target].smoke.step)
    assert (step.number, step.loss, step.seconds) == (3, 5.12345, 2.0)


#: A torchrun: it may log as DeepSpeed's script would, leave a child in a session of its own, fail or hang.
LAUNCHER = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
for step in range(1, {steps} + 1):
    print(f"step {{step}}/{steps} | loss {{6 - {slope} * step}} | grad norm 1", flush=True)
{end}
"""


def fake_python(folder: Path, steps: int, slope: float, end: str) -> Interpreter:
    """A Python whose `-m torch.distributed.run` is LAUNCHER."""
    program = folder / "launcher.py"
    program.write_text(LAUNCHER.format(steps=steps, slope=slope, end=textwrap.dedent(end)))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
    python.chmod(0o755)
    return Interpreter(str(python), HERE.packages, 0)


def trained(
    folder: Path, steps: int = 4, slope: float = 0.5, end: str = "", limit: float = 60.0
) -> Outcome:
    plan = sample_plan("deepspeed", layout=Layout(dp_shard=8, zero=1, microbatches=16))
    return smoke(plan, Request(fake_python(folder, steps, slope, end), 2, 4, limit_seconds=limit))


def left(folder: Path) -> list[int]:
    """Processes that carry any mark of a run whose commands lie in this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"smoke-test-" + str(folder).encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, and a variable by which processes of this test are found."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TRACED", f"smoke-test-{tmp_path}")
    return tmp_path


def assert_nothing_left(folder: Path) -> None:
    assert [number for number in left(folder) if number != os.getpid()] == []
    assert list((folder / "scratch").iterdir()) == []


def test_a_good_run(traced: Path) -> None:
    outcome = trained(traced)
    assert outcome.good and outcome.status == 0
    assert [step.loss for step in outcome.steps] == [5.5, 5.0, 4.5, 4.0]
    assert outcome.reached == 4.25
    assert_nothing_left(traced)


def test_a_loss_that_rises_is_no_good_run(traced: Path) -> None:
    outcome = trained(traced, slope=-0.5)
    assert outcome.status == 0 and not outcome.falls and not outcome.good
    assert_nothing_left(traced)


def test_missing_steps_are_no_good_run(traced: Path) -> None:
    outcome = trained(traced, steps=3)
    assert outcome.status == 0 and outcome.falls and not outcome.good


def test_a_failure_shows_its_error(traced: Path) -> None:
    end = """
    print("ValueError: the cause\\n  in detail\\n" + "noise\\n" * 30)
    sys.exit(7)
    """
    outcome = trained(traced, end=end)
    assert outcome.status == 7 and not outcome.good
    assert "ValueError: the cause" in outcome.log and "  in detail" in outcome.log
    assert_nothing_left(traced)


def test_a_hanging_run_ends_at_its_limit(traced: Path) -> None:
    began = time.monotonic()
    outcome = trained(traced, end="time.sleep(600)", limit=2.0)
    assert outcome.status is None and len(outcome.steps) == 4 and not outcome.good
    assert time.monotonic() - began < 30
    assert_nothing_left(traced)


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tests.smoke.test_shrunk_runs import trained
trained(Path({folder!r}), end="time.sleep(600)")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_leaves_nothing(number: int, traced: Path) -> None:
    program = PROGRAM.format(tests=str(ROOT), folder=str(traced))
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while len(left(traced)) < 4:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(30) != 0
    if number == signal.SIGKILL:
        wait_for_the_guard(traced)
    assert_nothing_left(traced)


def wait_for_the_guard(folder: Path) -> None:
    """It ends the processes first, then removes the folders."""
    until = time.monotonic() + GONE_SECONDS
    while (left(folder) or any((folder / "scratch").iterdir())) and time.monotonic() < until:
        time.sleep(0.1)


def test_a_guard_leaves_other_marks_alone() -> None:
    mine, other = new_mark(), new_mark()
    with guarded(mine):
        process = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: other})
    assert process.poll() is None
    with guarded(other):
        pass
    assert process.wait(10) == -signal.SIGKILL


def test_the_lock_of_a_build_goes_with_its_process(tmp_path: Path) -> None:
    """torch/utils/file_baton.py: while it exists others wait, for ever when its maker was killed."""
    lock = tmp_path / "lock"
    hold = f"import os, time; os.open({str(lock)!r}, os.O_CREAT | os.O_EXCL); print('held', flush=True)"
    hold += "; time.sleep(600)"
    ended = run([sys.executable, "-c", hold], dict(os.environ), 2.0)
    assert [line.text for line in ended.lines] == ["held"] and ended.status is None
    assert not lock.exists()


def test_marks_are_found_in_other_sessions() -> None:
    environment = {**os.environ, MARK: "one-of-its-own"}
    process = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    try:
        until = time.monotonic() + 1.0
        # The environment is empty in the moment in which the process becomes `sleep`.
        while not marked("one-of-its-own") and time.monotonic() < until:
            time.sleep(0.01)
        assert marked("one-of-its-own") == [process.pid] and marked("another") == []
    finally:
        process.kill()
        process.wait()


def test_ports_differ_while_they_are_held() -> None:
    from parc.smoke.processes import free_port

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        assert free_port() != held.getsockname()[1]


JOB = "examples/gpt_125m.par"


def test_the_report_as_json_and_the_files_that_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    python = fake_python(tmp_path, 8, 0.1, "")
    monkeypatch.setattr("parc.smoke.look_into", lambda path, gpus: python)
    kept = tmp_path / "kept"
    code = main(["smoke", JOB, "--target", "deepspeed", "--json", "--keep", str(kept)])
    (made,) = json.loads(capsys.readouterr().out)["runs"]
    assert (
        code == 0 and made["good"] and len(made["losses"]) == 8 and made["trained"]["dp_shard"] == 2
    )
    assert (kept / "deepspeed" / "deepspeed" / "train.py").exists()
    assert not (kept / "deepspeed" / "scratch").is_symlink()
    assert re.search(r"loss falls from 5\.900", made["verdict"])
