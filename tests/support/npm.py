"""Packages of npm for a test, of the versions that a manifest names."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

_INSTALL = (
    "npm",
    "install",
    "--no-save",
    "--silent",
    "--no-audit",
    "--no-fund",
    "--no-package-lock",
)


def install(folder: Path, manifest: Path, wanted: str = "") -> None:
    """Puts `node_modules` into a folder: what a package.json lists, or those whose names begin so. Skips
    where there is no npm, or no registry."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("needs Node.js and npm")
    listed = json.loads(manifest.read_text())
    packages = {**listed.get("dependencies", {}), **listed.get("devDependencies", {})}
    names = [f"{name}@{packages[name]}" for name in packages if name.startswith(wanted)]
    if not (folder / "package.json").exists():
        (folder / "package.json").write_text("{}")
    ran = subprocess.run(
        [*_INSTALL, *names], cwd=folder, capture_output=True, text=True, timeout=300
    )
    if ran.returncode:
        pytest.skip(f"npm does not install: {ran.stderr[-200:]}")
