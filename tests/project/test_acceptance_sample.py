"""The acceptance sample runs some tests of every kind, the same ones for a seed."""

from __future__ import annotations

import pytest

from tests.acceptance.support.sample import (
    KINDS,
    SAMPLE_JOBS,
    WHOLE_JOBS,
    Alike,
    accepts,
    left_out,
    place,
)
from tests.conftest import LONGEST
from tests.support.paths import ROOT

UNITS = [unit for alike in KINDS.values() for unit in alike.units]
PREFIXES = sorted({each for unit in UNITS for each in ([unit] if isinstance(unit, str) else unit)})
#: Twelve cases of every test that may be left out, and one that belongs to no kind.
NAMES = [f"{prefix}{case}]" for prefix in PREFIXES for case in range(12)]
ALWAYS = "test_megatron_accepts.py::test_every_job_is_accepted"


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_may_be_left_out_is_a_test(prefix: str) -> None:
    file, _, name = prefix.partition("::")
    text = (ROOT / "tests" / "acceptance" / file).read_text()
    assert f"\ndef {name.partition('[')[0] or 'test_'}" in text


def test_a_test_is_of_one_kind() -> None:
    for name in NAMES:
        assert sum(name.startswith(_prefixes(alike)) for alike in KINDS.values()) == 1, name


@pytest.mark.parametrize("seed", range(20))
def test_some_of_every_kind_run(seed: int) -> None:
    gone = left_out([*NAMES, ALWAYS], seed)
    for kind, alike in KINDS.items():
        of_kind = {name for name in NAMES if name.startswith(_prefixes(alike))}
        run = of_kind - set(gone[kind])
        assert len({_unit_of(name, alike) for name in run}) == alike.drawn >= 1
    assert ALWAYS not in sum(gone.values(), [])


def _prefixes(alike: Alike) -> tuple[str, ...]:
    return tuple(
        each for unit in alike.units for each in ([unit] if isinstance(unit, str) else unit)
    )


def _unit_of(name: str, alike: Alike) -> object:
    """What is drawn with the test of this name: itself, or the tuple that it is of."""
    (unit,) = (unit for unit in alike.units if name.startswith(unit))
    return name if isinstance(unit, str) else unit


def test_the_seed_alone_decides() -> None:
    assert left_out(NAMES, 1) == left_out(NAMES[::-1], 1)
    assert len({str(left_out(NAMES, seed)) for seed in range(20)}) == 20


def test_what_was_selected_alone_runs() -> None:
    """One case by its name, as from `pytest tests/acceptance/test_traffic.py::...`."""
    assert all(left_out([name], 1) == {} for name in NAMES)


def test_every_target_has_jobs_in_the_sample() -> None:
    assert SAMPLE_JOBS.keys() == WHOLE_JOBS.keys()
    assert all(0 < SAMPLE_JOBS[target] < WHOLE_JOBS[target] for target in SAMPLE_JOBS)


def test_the_longest_files_are_there() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []


def test_the_files_of_a_sample_stand_as_the_seed_draws() -> None:
    files = sorted(path.name for path in (ROOT / "tests" / "acceptance").glob("test_*.py"))
    orders = [sorted(files, key=lambda file: place(file, seed)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    accepted = [file for file in files if accepts(file)]
    assert accepted
    assert all(set(order[: len(accepted)]) == set(accepted) for order in orders)
