"""Values that all processes of a test run share: the first that asks makes one, and the others read it."""

from __future__ import annotations

import atexit
import fcntl
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TypeVar, cast

from tests.support.paths import ROOT

#: Names the run's folder to the workers, which inherit it.
FOLDER = "PARC_TEST_RUN"
Value = TypeVar("Value")


def begin_run() -> None:
    """Makes the folder of a run, unless a process that began the run has; nobody else may write in it."""
    if FOLDER not in os.environ:
        os.environ[FOLDER] = folder = tempfile.mkdtemp(prefix="parc-test-run-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def once_per_run(name: str, make: Callable[[], Value]) -> Value:
    """What `make` returns, made by one process of the run, while the others wait for it.

    What it raises it raises in each that asks. Two trees of parc have values of their own.
    """
    kept = Path(os.environ[FOLDER], sha256(f"{ROOT} {name}".encode()).hexdigest())
    with open(f"{kept}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            value = pickle.dumps(make())
            kept.with_suffix(".new").write_bytes(value)
            kept.with_suffix(".new").rename(kept)
    return cast(Value, pickle.loads(kept.read_bytes()))
