"""docs/tutorial.md is typed as it is printed, in an empty folder with an empty HOME."""

import os
import re
import subprocess
import time
from pathlib import Path

from tests.acceptance.support.environments import TREE
from tests.support.fences import fences

#: What a reader types for a folder of their own.
CLONE = "PATH/OF/THE/CLONE"
#: Seconds; what the tutorial's first line promises.
TEN_MINUTES = 600
#: Commands that the tutorial shows to fail.
_FAILING = re.compile(r"train\.seq_lenn|^parc lint .*torchtitan$")


def _commands() -> list[str]:
    """What is typed, in order: the lines behind `$`, and blocks without output whole."""
    typed: list[str] = []
    for fence in fences((TREE / "docs" / "tutorial.md").read_text()):
        lines = fence.text.splitlines()
        if fence.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        typed += lines
    return [line.replace(CLONE, str(TREE)) for line in typed]


def _script(commands: list[str]) -> str:
    """Each command as it stands, in one shell; those that are not shown to fail must not."""
    return "\n".join(line if _FAILING.search(line) else f"{line} || exit 7" for line in commands)


def test_the_tutorial_ends_with_a_falling_loss(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "first"
    home.mkdir()
    folder.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", _script(_commands())],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=3 * TEN_MINUTES,
    )
    taken = time.monotonic() - begun
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"loss falls from \d", done.stdout), done.stdout[-4000:]
    assert taken < TEN_MINUTES
