"""Python code run in a process of its own, under a chosen seed of Python's hashes -> what it prints."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.paths import ROOT


def printed_by(code: str, *arguments: str, seed: str = "0") -> str:
    """Fails the test when the process does."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
