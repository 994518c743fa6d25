"""What a session starts ends with it, even when it is killed: all of it carries a mark, and a guard waits.

As a program it is that guard. It carries no mark itself, and starts nothing. SLURM's step daemons clear their
environment, but hold the log of their node open, which has the mark in its name.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.acceptance.support import host_names

MARK = "PARC_ACCEPTANCE_SESSION"
#: Of the package, which is too much to import for a process that waits.
TREE = Path(__file__).resolve().parents[3]
GUARD = TREE / "smoke" / "guard.py"


@cache
def watch() -> subprocess.Popen[bytes]:
    """Marks what this process starts from now on, and starts the guard."""
    host_names.forget(os.getpid())
    mark = os.environ[MARK] = uuid.uuid4().hex
    return subprocess.Popen(
        [sys.executable, "-E", "-S", "-m", __name__, mark, str(os.getpid())],
        cwd=TREE,
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def session_mark() -> str:
    """What the names of files must carry whose holders end with the session."""
    watch()
    return os.environ[MARK]


def holders(mark: str) -> list[int]:
    """Processes that hold a file open whose name carries the mark."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _holds(folder, mark)]


def _holds(process: Path, mark: str) -> bool:
    with suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with suppress(OSError):
                if mark in os.readlink(descriptor):
                    return True
    return False


def end_holders(mark: str, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while (left := holders(mark)) and time.monotonic() < until:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def _guard() -> Any:
    spec = importlib.util.spec_from_file_location("guard", GUARD)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(mark: str, process: str) -> None:
    guard = _guard()

    def then() -> None:
        guard.end(mark, MARK)
        end_holders(mark)
        host_names.forget(int(process))

    guard.when_parent_has_ended(then)


if __name__ == "__main__":
    main(*sys.argv[1:])
