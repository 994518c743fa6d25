"""The same job gives the same bytes on another Python: parc is installed there and compiles an example."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

OTHERS = ("python3.14", "python3.13", "python3.12", "python3.11")
EXAMPLES = ("llama3_8b", "mixtral_8x7b")
VERSION = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"


def other_python() -> str | None:
    """A Python >= 3.11 of another version that really starts; pyenv shims may stand there and fail."""
    here = "{}.{}".format(*sys.version_info[:2])
    for name in OTHERS:
        path = shutil.which(name)
        if path is None or name == f"python{here}":
            continue
        found = subprocess.run([path, "-c", VERSION], capture_output=True, text=True)
        if found.returncode == 0 and found.stdout.strip() != here:
            return path
    beside = sorted(Path(sys.base_prefix).parent.glob("3.1[1-9]*/bin/python"))  # pyenv's versions
    return next((str(path) for path in beside if f"/{here}." not in str(path)), None)


def files_of(python: str, out: Path) -> dict[str, bytes]:
    jobs = [f"examples/{name}.par" for name in EXAMPLES]
    command = [python, "-m", "parc", "compile", *jobs, "-o", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    return {
        str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()
    }


def test_two_pythons_write_the_same_bytes(tmp_path: Path) -> None:
    other = other_python()
    if other is None:
        pytest.skip("no second Python >= 3.11 on this machine to compare with")
    source = shutil.copytree(
        ROOT,
        tmp_path / "source",
        ignore=shutil.ignore_patterns(".*", "out", "build", "golden", "*.egg-info"),
    )
    subprocess.run([other, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    python = str(tmp_path / "venv" / "bin" / "python")
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", str(source)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if installed.returncode != 0:
        pytest.skip(
            f"parc's dependencies do not install on {other}: {installed.stderr.strip()[-200:]}"
        )
    assert files_of(python, tmp_path / "there") == files_of(sys.executable, tmp_path / "here")
