"""Ray, installed for the Python of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from .environments import cache_folder

#: Later ones end a node whose agent takes longer than 15 s to start, as a busy machine makes it.
RAY = "2.40.0"
#: The release that `parc-compiler[ray]` installs; it knows tokens.
NEWEST = "2.60.0"
#: What ray 2.40's command line works with.
CLICK = "8.1.8"


def variables(release: str = RAY) -> dict[str, str]:
    """An environment in which the Python of the tests finds Ray; skips where none can be installed."""
    folder = cache_folder() / f"ray-{release}"
    if not (folder / "ready").exists():
        packages = [f"ray=={release}", f"protobuf=={version('protobuf')}"]
        packages += [f"click=={CLICK}"] if release == RAY else []
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-qq",
            "--target",
            str(folder),
            *packages,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if not (folder / "ray").is_dir():
            pytest.skip(f"ray {release} cannot be installed: {done.stderr.strip()[-200:]}")
        (folder / "ready").touch()
    return {**os.environ, "PYTHONPATH": str(folder)}
