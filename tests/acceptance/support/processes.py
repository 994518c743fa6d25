"""Processes that are ended with everything they started."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.acceptance.support.session_guard import watch

PR_SET_PDEATHSIG = 1


def start(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A process in a group of its own, so that `stop` reaches what it started, and ended with this one."""
    watch()
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )


def stop(process: subprocess.Popen[bytes], seconds: float = 10.0) -> None:
    """TERM, then KILL for what does not end, to the whole group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)


def end_with_parent() -> None:
    """In a forked process, whose environment shows no mark: Linux kills it when its parent is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def started_by(number: int) -> list[int]:
    """The processes below one, whatever their sessions: torchrun's workers have their own."""
    tasks = Path(f"/proc/{number}/task").glob("*/children")
    children = [int(each) for task in tasks for each in task.read_text().split()]
    return [*children, *(each for child in children for each in started_by(child))]
