"""How long `parc check` takes by itself, and what it has no need to load.

Seconds depend on the machine and on who else uses it, so they are compared with those of the libraries that
read a job, a run of each in turn.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import JOB, Parc

#: What a process loads at least that reads a job.
LIBRARIES = "import lark, pydantic, pydantic.types, pydantic.json_schema"
#: `parc check` takes 2.4 times as long as these, in 0.34 s of a processor that nobody else uses.
TIMES = 3.5
TURNS = 5


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Python keeps its compiled modules, as it does where parc is installed."""
    kept = {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | kept


def seconds(environment: dict[str, str], *arguments: str) -> float:
    """Of the processor, for one run of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_job_is_checked_in_little_more_than_it_takes_to_load_the_libraries(
    run: Parc, environment: dict[str, str]
) -> None:
    check = ("-m", "parc", "check", "job.par")
    seconds(environment, *check), seconds(environment, "-c", LIBRARIES)
    found = [
        seconds(environment, *check) / seconds(environment, "-c", LIBRARIES) for _ in range(TURNS)
    ]
    assert statistics.median(found) < TIMES, found


def test_a_check_loads_neither_arrays_nor_solvers_nor_writers(tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text(JOB)
    code = (
        "import sys; from parc.__main__ import main; assert main(['check', sys.argv[1]]) == 0; "
        "print(*sorted({name for name in sys.modules}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    loaded = ran.stdout.splitlines()[-1].split()
    heavy = {
        "numpy",
        "ortools",
        "jinja2",
        "parc.lint",
        "parc.commands.rules",
        "parc.writing.single_file",
    }
    assert "parc.checking" in loaded and not heavy & set(loaded)
