"""parc smoke without a framework: what is shrunk, how layouts are cut, how a run is followed and ended."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.backends import BACKENDS
from parc.compiler.plan import Layout
from parc.smoke import Interpreter, Outcome, Request, smoke, steps_of
from parc.smoke.guard import MARK, marked
from parc.smoke.processes import PORTS, Line, free_port, guarded, new_mark, run
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan
from tests.support.waiting import wait_until

#: Seconds that a run has which hangs; a loaded machine may not have begun it within the first.
LIMITS = (2.0, 8.0, 32.0)
HERE = Interpreter(sys.executable, {"torch": "2", "torchtitan": "0.2.2", "deepspeed": "0"}, 0)


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
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" {shlex.quote(str(program))} "$@"\n')
    python.chmod(0o755)
    return Interpreter(str(python), HERE.packages, 0)


def trained(
    folder: Path,
    steps: int = 4,
    slope: float = 0.5,
    end: str = "",
    limit: float = 60.0,
    keep: Path | None = None,
) -> Outcome:
    plan = sample_plan("deepspeed", layout=Layout(dp_shard=8, zero=1, microbatches=16))
    python = fake_python(folder, steps, slope, end)
    return smoke(plan, Request(python, 2, 4, limit_seconds=limit, keep=keep))


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


def test_a_kept_folder_holds_the_log(traced: Path) -> None:
    kept = traced / "kept"
    outcome = trained(traced, end="print('last words'); sys.exit(7)", keep=kept)
    text = (kept / "log.txt").read_text()
    assert outcome.status == 7 and text.endswith("last words\n") and text.count("\n") > 3


def test_a_hanging_run_ends_at_its_limit(traced: Path) -> None:
    for limit in LIMITS:
        outcome = trained(traced, end="time.sleep(600)", limit=limit)
        assert outcome.status is None and not outcome.good
        assert_nothing_left(traced)
        if outcome.steps:
            break
    assert len(outcome.steps) == 4


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
    wait_until(
        lambda: process.poll() is not None or len(left(traced)) >= 4, 300, "a run's processes"
    )
    process.send_signal(number)
    assert process.wait(60) != 0
    if number == signal.SIGKILL:
        wait_for_the_guard(traced)
    assert_nothing_left(traced)


def wait_for_the_guard(folder: Path) -> None:
    """It ends the processes first, then removes the folders."""
    scratch = folder / "scratch"
    wait_until(lambda: not left(folder) and not any(scratch.iterdir()), 60, "the guard's end")


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
    for limit in LIMITS:
        ended = run([sys.executable, "-c", hold], dict(os.environ), limit)
        assert ended.status is None and not lock.exists()
        if ended.lines:
            break
    assert [line.text for line in ended.lines] == ["held"]


def test_marks_are_found_in_other_sessions() -> None:
    environment = {**os.environ, MARK: "one-of-its-own"}
    process = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    try:
        # The environment is empty in the moment in which the process becomes `sleep`.
        wait_until(lambda: bool(marked("one-of-its-own")), 60, "a marked process")
        assert marked("one-of-its-own") == [process.pid] and marked("another") == []
    finally:
        process.kill()
        process.wait()


def test_a_port_that_is_held_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    first = free_port()
    assert first in PORTS
    monkeypatch.setattr("random.sample", lambda ports, count: [first, first + 1, first + 2])
    with socket.socket() as held:
        held.bind(("127.0.0.1", first))
        assert free_port() in (first + 1, first + 2)


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


def test_the_path_of_a_python_is_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / 'it\'s "$(touch pwned)" `touch pwned`'
    odd.mkdir()
    outcome = trained(odd, keep=tmp_path / "kept")
    assert [step.number for step in outcome.steps] == [1, 2, 3, 4]
    assert not [*tmp_path.rglob("pwned")]


def test_a_disk_that_takes_no_file_is_said(tmp_path: Path) -> None:
    """No file of this process may have more than a thousand bytes."""
    words = [
        "smoke",
        "examples/gpt_125m.par",
        "--target",
        "deepspeed",
        "--keep",
        str(tmp_path / "kept"),
    ]
    program = f"""
import resource, sys
import parc.smoke
from parc.__main__ import main
from parc.smoke import Interpreter
parc.smoke.look_into = lambda path, gpus: Interpreter(path, {dict(HERE.packages)}, 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
sys.exit(main({words!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2 and "PAR089" in done.stderr and "file too large" in done.stderr
    assert "Traceback" not in done.stderr
