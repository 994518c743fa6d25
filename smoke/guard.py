"""A mark -> the end of every process that carries it. Run as a program, it waits until its parent has ended.

A program of its own survives what kills a run; it imports the standard library only.
"""

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

#: Environment variable of every process of a run; children inherit it, whatever session they move to.
MARK = "PARC_SMOKE_RUN"
POLL_SECONDS = 0.5
#: Longest time to wait until the killed processes have ended.
GONE_SECONDS = 10.0


def marked(value: str, name: str = MARK) -> list[int]:
    """Processes whose environment carries the mark; none where there is no /proc."""
    wanted = f"{name}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end(value: str, name: str = MARK) -> None:
    """Kills every process that carries the mark, and removes the locks that they held."""
    until, batons = time.monotonic() + GONE_SECONDS, set[Path]()
    while (left := _still_marked(value, name)) and time.monotonic() < until:
        _signal(left, signal.SIGSTOP)
        batons |= {path for process in left for path in _batons(process)}
        _signal(left, signal.SIGKILL)
        time.sleep(0.05)
    for path in batons:
        path.unlink(missing_ok=True)


def _still_marked(value: str, name: str) -> list[int]:
    """The processes that carry the mark; looks twice when there are none, since /proc shows no environment of
    a process during its exec."""
    found = marked(value, name)
    if not found:
        time.sleep(0.05)
        found = marked(value, name)
    return found


def _signal(processes: list[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _batons(process: int) -> Iterator[Path]:
    """Locks of PyTorch's extension builds (torch/utils/file_baton.py) that a process holds: a later build
    would wait for them for ever."""
    with suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                path = link.readlink()
                if path.name == "lock":
                    yield path


def when_parent_has_ended(then: Callable[[], None]) -> None:
    """Calls `then` once standard input is closed or the parent process is another one.

    The parent holds the other end of standard input; its children may hold it longer than the parent lives.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    while os.getppid() == parent and not select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
        pass
    then()


def main(value: str, *folders: str) -> None:
    def then() -> None:
        end(value)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    when_parent_has_ended(then)


if __name__ == "__main__":
    main(*sys.argv[1:])
