"""What a session starts ends with it, even when it is killed: all of it carries a mark, and a guard waits.

As a program it is that guard. It carries no mark itself, and starts nothing.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import hosts

MARK = "PARC_ACCEPTANCE_SESSION"
#: Of the package, which is too much to import for a process that waits.
GUARD = Path(__file__).resolve().parents[2] / "smoke" / "guard.py"


@cache
def watch() -> subprocess.Popen[bytes]:
    """Marks what this process starts from now on, and starts the guard."""
    hosts.forget(os.getpid())
    mark = os.environ[MARK] = uuid.uuid4().hex
    return subprocess.Popen(
        [sys.executable, "-E", "-S", __file__, mark, str(os.getpid())],
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


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
        hosts.forget(int(process))

    guard.when_starter_is_gone(then)


if __name__ == "__main__":
    main(*sys.argv[1:])
