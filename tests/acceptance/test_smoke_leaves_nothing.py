"""`parc smoke` leaves no process, port or temporary folder: after success, after failure, after a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.support.environments import environment
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS, Wanted, extensions, job_text
from tests.support.waiting import wait_until

#: A run that does not end before it is ended.
ENDLESS = ("--steps", "1000000")
FSDP = Wanted("zero == 2, cp == 1", 2, {})


def _start(folder: Path, *more: str, options: str = "") -> subprocess.Popen[str]:
    job, scratch = folder / "job.par", folder / "scratch"
    job.write_text(job_text("deepspeed", Wanted(FSDP.layout, 2, {}, options=options)))
    scratch.mkdir()
    python = str(environment("deepspeed").python)
    command = [sys.executable, "-m", "parc", "smoke", str(job), "--python", python, "--cpu"]
    return subprocess.Popen(
        [*command, "--procs", "2", *more],
        env={
            **os.environ,
            "TMPDIR": str(scratch),
            "SMOKE_TEST": str(folder),
            **extensions(),
        },
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
    printed, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, printed
    assert _left(tmp_path) == []


def test_after_failure(tmp_path: Path) -> None:
    """A key that DeepSpeed itself refuses on a CPU."""
    process = _start(tmp_path, options='extra = { "aio.use_gds" = true }')
    printed, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 1 and "FAILED: exit status 1" in printed, printed
    assert "GDS currently only supported for CUDA" in printed
    assert _left(tmp_path) == []


def test_after_the_time_was_up(tmp_path: Path) -> None:
    process = _start(tmp_path, "--limit", "6", *ENDLESS)
    printed, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 1 and "the time was up" in printed, printed
    assert _left(tmp_path) == []


ENDS = [
    (signal.SIGINT, "torch.distributed.run"),
    (signal.SIGINT, "train.py"),
    (signal.SIGTERM, "train.py"),
    (signal.SIGHUP, "torch.distributed.run"),
    (signal.SIGKILL, "torch.distributed.run"),
    (signal.SIGKILL, "train.py"),
]


@pytest.mark.parametrize(("number", "phase"), ENDS, ids=lambda each: getattr(each, "name", each))
def test_after_a_signal(number: signal.Signals, phase: str, tmp_path: Path) -> None:
    process = _start(tmp_path, *ENDLESS)
    wait_until(
        lambda: process.poll() is not None or any(phase in line for line in _running(tmp_path)),
        LIMIT_SECONDS,
        phase,
    )
    time.sleep(1.0)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=LIMIT_SECONDS)
    if number == signal.SIGKILL:
        assert process.returncode == -number, printed
        wait_until(lambda: not _left(tmp_path), 300, "the guard of a killed run")
    assert process.returncode in (130, -signal.SIGKILL), printed
    assert _left(tmp_path) == []
