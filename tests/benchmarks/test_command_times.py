"""What commands take in fresh interpreters, and which promises of that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.command_times import ONE_GPU, Run, compiled, run, verdicts

NAMES = ("ortools", "plan of one GPU", "plan", "estimate", "million", "compile", "large compile")


def runs(**seconds: float) -> dict[str, Run]:
    """A run of each command, of half a second unless told."""
    each = {name: seconds.get(name.replace(" ", "_"), 0.5) for name in NAMES}
    return {name: Run(taken, taken, 10**8) for name, taken in each.items()}


def test_a_command_is_measured(tmp_path: Path) -> None:
    found = compiled(ONE_GPU, tmp_path)
    assert found.wall_seconds > 0 and found.cpu_seconds > 0 and found.memory_bytes > 2**20


def test_a_command_that_fails_ends_the_benchmark(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ended with 3"):
        run(["-c", "raise SystemExit(3)"], tmp_path)


def test_promises_are_kept_or_not() -> None:
    assert all(kept for kept, _ in verdicts(runs(), loads_ortools=False))
    slow = runs(large_compile=2.1, plan_of_one_GPU=1.1, compile=0.8, estimate=0.7, million=11)
    found = list(verdicts(slow, loads_ortools=False))
    assert not any(kept for kept, _ in found)
    assert found[0][1] == "compile of llama3_405b over importing OR-Tools: 4.20, at most 4"
    assert [kept for kept, _ in verdicts(runs(), loads_ortools=True)].count(False) == 1
