"""Runs mypy over parc as it is installed: a tree of links laid out by pyproject.toml's package-dir."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.support.paths import ROOT


def link_packages(tree: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, folder in settings["package-dir"].items():
        target = tree / package.replace(".", "/")
        target.mkdir(parents=True, exist_ok=True)
        for source in [*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("py.typed")]:
            (target / source.name).symlink_to(source)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        link_packages(Path(folder))
        command = [sys.executable, "-m", "mypy", f"--config-file={ROOT / 'pyproject.toml'}"]
        command += [f"--cache-dir={ROOT / '.mypy_cache'}", *sys.argv[1:]]
        return subprocess.run(
            command, cwd=folder, env={**os.environ, "MYPYPATH": folder}
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
