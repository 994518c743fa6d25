"""The wheel and the sdist: whole, the same bytes wherever they are built, and enough to compile a job."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.project.test_packaging import ROOMS
from tests.support.paths import ROOT

EXAMPLE = "gpt_125m.par"
#: What is in a checkout and in none of its archives.
BUILT = (".*", "__pycache__", "*.egg-info", "build", "dist", "out", "rules")
#: A commit's time, as `SOURCE_DATE_EPOCH` has it.
EPOCH = "1750000000"


def copied(place: Path, age: float) -> Path:
    """The sources with the times of another checkout."""
    shutil.copytree(ROOT, place, ignore=lambda folder, names: kept_out(Path(folder), names))
    for path in place.rglob("*"):
        os.utime(path, (age, age))
    return place


def kept_out(folder: Path, names: list[str]) -> set[str]:
    out = set(shutil.ignore_patterns(*BUILT)(str(folder), names))
    return out - ({"rules"} if folder.name != "docs" else set())


def built(sources: Path) -> dict[str, Path]:
    """The archives of `python -m build`, by their endings; the wheel is built from the sdist's files."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"],
        cwd=sources,
        env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
    )
    return {path.suffix: path for path in (sources / "dist").iterdir()}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built(copied(tmp_path_factory.mktemp("one") / "parc", 1.6e9))


def test_the_wheel_is_the_same_wherever_it_is_built(
    archives: dict[str, Path], tmp_path: Path
) -> None:
    again = built(copied(tmp_path / "elsewhere", 1.7e9))
    assert again[".whl"].read_bytes() == archives[".whl"].read_bytes()


def test_the_wheel_has_every_file_of_the_rooms(archives: dict[str, Path]) -> None:
    inside = set(zipfile.ZipFile(archives[".whl"]).namelist())
    for package, room in ROOMS.items():
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                inner = path.relative_to(ROOT / room).as_posix()
                assert f"{package.replace('.', '/')}/{inner}" in inside, path


def test_the_sdist_has_docs_examples_and_tests(archives: dict[str, Path]) -> None:
    with tarfile.open(archives[".gz"]) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("docs", "examples", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT)
            if path.is_file() and path.suffix != ".pyc" and name.parts[:2] != ("docs", "rules"):
                assert name.as_posix() in inside
    assert {"LICENSE", "SECURITY.md", "CHANGELOG.md", "Makefile", "pyproject.toml"} <= inside


def test_the_wheel_compiles_a_job(archives: dict[str, Path], tmp_path: Path) -> None:
    """Away from the sources, with nothing of parc but the wheel's files."""
    with zipfile.ZipFile(archives[".whl"]) as wheel:
        wheel.extractall(tmp_path / "site")
    shutil.copy(ROOT / "examples" / EXAMPLE, tmp_path / EXAMPLE)
    program = (
        "import sys; sys.path.insert(0, 'site'); sys.meta_path[:] = ["
        "each for each in sys.meta_path if 'editable' not in repr(each).lower()];"
        "import parc; print(parc.__file__); from parc.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "compile", EXAMPLE, "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "site") in done.stdout or "site/parc" in done.stdout
    assert list((tmp_path / "out").rglob("*.sh"))
