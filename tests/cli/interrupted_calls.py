"""Each call by which Python changes files may be its process's last, or fail, as `strace --inject` does it.

A forked child counts its calls of the functions of `os` below, and is killed, or sees an error, at the n-th.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from typing import Any

#: What shutil, tempfile, pathlib and our own writers call.
CALLS = (
    "chmod", "fchmod", "fsync", "link", "mkdir", "open", "rename", "replace", "rmdir", "symlink", "unlink",
)  # fmt: skip
#: How a child ends that makes fewer than n calls, that raised a `JobError`, and that went on after the n-th.
DONE, RAISED, WENT_ON = 0, 17, 18


def child(action: Callable[[], object], strike: Callable[[], None], at: int, after: bool) -> int:
    """Runs `action` in a forked process that calls `strike` before (or after) its call number `at`."""
    return ended(started(action, strike, at, after))


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def started(
    action: Callable[[], object], strike: Callable[[], None], at: int, after: bool = False
) -> int:
    """The number of the forked process."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        count = iter(range(1, 1_000_000))
        for name in CALLS:
            setattr(os, name, _counted(getattr(os, name), count, strike, at, after))
        action()
        code = DONE if next(count) <= at else WENT_ON
    except Exception as error:
        code = RAISED if type(error).__name__ == "JobError" else 1
        if code == 1:
            traceback.print_exc()
    finally:
        os._exit(code)


def _counted(
    call: Callable[..., Any], count: Iterator[int], strike: Callable[[], None], at: int, after: bool
) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        number = next(count)
        if number == at and not after:
            strike()
        try:
            return call(*arguments, **options)
        finally:
            if number == at and after:
                strike()

    return counted


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kills(action: Callable[[], object], after: bool = False) -> Iterator[int]:
    """Runs the action once for each of its calls, killed there, and yields its exit code each time."""
    for at in range(1, 1_000):
        code = child(action, kill, at, after)
        yield code
        if code == DONE:
            return


def failures(action: Callable[[], object], error: OSError) -> Iterator[int]:
    """The same with one failing call in place of the end."""

    def fail() -> None:
        raise error

    for at in range(1, 1_000):
        code = child(action, fail, at, False)
        yield code
        if code == DONE:
            return
