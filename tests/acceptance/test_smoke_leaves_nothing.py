"""`parc smoke` leaves no process, port or temporary folder: after success, after failure, after a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from environments import environment
from smoking import Wanted, job_text

FSDP = Wanted("zero == 2, cp == 1", 2, {})


def _start(folder: Path, *more: str, options: str = "") -> subprocess.Popen[str]:
    job, scratch = folder / "job.par", folder / "scratch"
    job.write_text(job_text("deepspeed", Wanted(FSDP.layout, 2, {}, options=options)))
    scratch.mkdir()
    python = str(environment("deepspeed").python)
    command = [sys.executable, "-m", "parc", "smoke", str(job), "--python", python, "--cpu"]
    return subprocess.Popen(
        [*command, "--procs", "2", *more],
        env={**os.environ, "TMPDIR": str(scratch), "SMOKE_TEST": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _running(folder: Path) -> list[str]:
    """Command lines of processes that descend from a `_start` in this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"SMOKE_TEST={folder}".encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def _left(folder: Path) -> list[str]:
    return [*_running(folder), *(str(path) for path in (folder / "scratch").iterdir())]


def test_after_success(tmp_path: Path) -> None:
    process = _start(tmp_path)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert _left(tmp_path) == []


def test_after_failure(tmp_path: Path) -> None:
    """A key that DeepSpeed itself refuses."""
    process = _start(tmp_path, options='extra = { "zero_optimization.no_such_key" = 1 }')
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 1 and "FAILED: exit status 1" in printed, printed
    assert "no_such_key" in printed
    assert _left(tmp_path) == []


def test_after_the_time_was_up(tmp_path: Path) -> None:
    process = _start(tmp_path, "--limit", "6")
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 1 and "the time was up" in printed, printed
    assert _left(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
@pytest.mark.parametrize("phase", ["torch.distributed.run", "train.py"])
def test_after_a_signal(number: signal.Signals, phase: str, tmp_path: Path) -> None:
    process = _start(tmp_path)
    until = time.monotonic() + 120
    while not any(phase in line for line in _running(tmp_path)):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130, printed
    assert _left(tmp_path) == []
