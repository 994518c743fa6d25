"""README and tutorial typed by a newcomer: an empty folder, an empty HOME, no cache; each answer.

python -m tests.support.newcomer     # in a fresh environment, into which the tree is installed
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.fences import fences
from tests.support.paths import ROOT

PAGES = ("README.md", "docs/tutorial.md")
#: What a page shows below a command that is meant to find something.
_FINDING = re.compile(r"\berror(?:\[| )PAR\d+")
_TIMING = re.compile(r"\b\d+\.\d\d s\b")


@dataclass(frozen=True)
class Answer:
    """A command with what the page shows below it, and what came."""

    command: str
    shown: str
    printed: str
    code: int

    @property
    def right(self) -> bool:
        finds = bool(_FINDING.search(self.shown))
        return _steady(self.printed) == _steady(self.shown) and (self.code != 0) == finds


def _steady(text: str) -> str:
    return "\n".join(line.rstrip() for line in _TIMING.sub("N s", text).strip().splitlines())


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Each command of the page that stands above what it prints, with that, in order."""
    for fence in fences((ROOT / page).read_text()):
        if fence.language == "console":
            for piece in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
                command, _, shown = piece.partition("\n")
                yield command, shown


def typed(page: str, binaries: Path, place: Path) -> Iterator[Answer]:
    """The answers to the commands of a page, typed one after another in a new folder at `place`."""
    home, folder = place / "home", place / "folder"
    home.mkdir()
    folder.mkdir()
    environment = {"HOME": str(home), "PATH": f"{binaries}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    for command, shown in commands(page):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        yield Answer(command, shown, done.stdout, done.returncode)


def main() -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin/pip", "install", "--quiet", ROOT], check=True)
        for page in PAGES:
            place = Path(folder) / Path(page).stem
            place.mkdir()
            for answer in typed(page, environment / "bin", place):
                print("ok  " if answer.right else "WRONG", page, "$", answer.command)
                if not answer.right:
                    wrong += 1
                    print(f"exit code {answer.code}\n{answer.printed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
