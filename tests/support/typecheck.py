"""Runs mypy over parc as it is installed, the tests, the benchmarks and what builds docs and grammars.

It sees a tree of links, laid out by pyproject.toml's package-dir.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import GOLDEN, ROOT

#: Folders of programs for a framework's own interpreter, which import one another by their bare names.
PROGRAMS = ("tests/acceptance/probes", "smoke/on_cpu")


def links() -> Iterator[tuple[str, Path]]:
    """Paths in the tree, and the files and folders of this repository that stand there."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, folder in settings["package-dir"].items():
        for source in [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).glob("py.typed")]:
            yield f"{package.replace('.', '/')}/{source.relative_to(ROOT / folder)}", source
    for folder in ("tests", "benchmarks", "docs", "editors"):
        for source in (ROOT / folder).rglob("*.py"):
            if not source.is_relative_to(GOLDEN):
                yield str(source.relative_to(ROOT)), source
    for folder in PROGRAMS:
        for source in (ROOT / folder).glob("*.py"):
            yield source.name, source


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name, source in links():
            place = Path(folder) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(source)
        command = [sys.executable, "-m", "mypy", f"--config-file={ROOT / 'pyproject.toml'}"]
        command += [f"--cache-dir={ROOT / '.mypy_cache'}", *sys.argv[1:]]
        return subprocess.run(
            command, cwd=folder, env={**os.environ, "MYPYPATH": folder}
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
