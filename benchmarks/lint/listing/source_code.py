"""The code of one release: files of a folder, of a wheel, or of a commit in a git repository."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class SourceCode:
    """`place` is a folder, a wheel, or `GITDIR@REVISION`."""

    place: str

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every Python file, below the root of the package or the repository."""
        return tuple(sorted(path for path in self._names() if path.endswith(".py")))

    def _names(self) -> Iterator[str]:
        folder, at, revision = self.place.rpartition("@")
        if at:
            yield from _git(folder, "ls-tree", "-r", "--name-only", revision).splitlines()
        elif zipfile.is_zipfile(self.place):
            yield from zipfile.ZipFile(self.place).namelist()
        else:
            root = Path(self.place)
            yield from (str(path.relative_to(root)) for path in root.rglob("*.py"))

    def text(self, path: str) -> str:
        folder, at, revision = self.place.rpartition("@")
        if at:
            return _git(folder, "show", f"{revision}:{path}")
        if zipfile.is_zipfile(self.place):
            return zipfile.ZipFile(self.place).read(path).decode()
        return (Path(self.place) / path).read_text(encoding="utf-8")


def _git(folder: str, *arguments: str) -> str:
    command = ["git", "-C", folder, *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
