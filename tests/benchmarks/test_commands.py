"""Commands of benchmarks/ run by their path from any folder; their modules go by whole names alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import GOLDEN, ROOT, TESTS

BENCHMARKS = ROOT / "benchmarks"
#: By these names goes the framework.
FRAMEWORKS = {"megatron", "deepspeed", "torchtitan"}
MODULES = {path.stem for path in BENCHMARKS.rglob("*.py")} - {"__init__"} - FRAMEWORKS
COMMANDS = (
    "benchmarks/accuracy/accuracy.py", "benchmarks/accuracy/fit.py",
    "benchmarks/accuracy/fit_memory.py", "benchmarks/accuracy/fit_spreads.py",
    "benchmarks/accuracy/left_out.py", "benchmarks/accuracy/published.py", "benchmarks/doubt.py",
    "benchmarks/fit_kernels.py", "benchmarks/kernels.py", "benchmarks/lint/lint_failures.py",
    "benchmarks/lint/lint_score.py", "benchmarks/speed.py", "benchmarks/transfer.py",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs_by_its_path(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / command), "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {Path(command).name} ")


def imported(path: Path) -> Iterator[str]:
    """The first part of every absolute import."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_no_module_of_benchmarks_goes_by_a_bare_name() -> None:
    files = [path for path in TESTS.rglob("*.py") if not path.is_relative_to(GOLDEN)]
    found = {
        path.name: MODULES & set(imported(path)) for path in (*files, *BENCHMARKS.rglob("*.py"))
    }
    assert {name: bare for name, bare in found.items() if bare} == {}
    assert not [place for place in sys.path if Path(place).is_relative_to(BENCHMARKS)]
