"""benchmarks/gpu/card.py: what a GPU is asked, and when it is empty."""

from __future__ import annotations

import sys

import pytest

from benchmarks.gpu import card


def test_name_and_versions_are_the_last_lines_of_what_the_asking_program_prints() -> None:
    program = "print('a warning'); print('NVIDIA H100'); print('PyTorch 2.11')"
    assert card.about(program) == ("NVIDIA H100", "PyTorch 2.11")


def test_why_there_is_no_gpu_is_the_last_line_of_its_error() -> None:
    missing = "ModuleNotFoundError: No module named 'no_such_torch'"
    assert card.about("import no_such_torch") == missing
    assert card.about("import sys; sys.exit(3)") == "no output"


def test_without_a_driver_nothing_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "MEMORY", ("no-such-nvidia-smi",))
    assert card.used_mib() == 0
    monkeypatch.setattr(card, "MEMORY", (sys.executable, "-c", "print('[N/A]')"))
    assert card.used_mib() == 0
    monkeypatch.setattr(card, "MEMORY", (sys.executable, "-c", "print(512)"))
    assert card.used_mib() == 512


def test_it_waits_until_memory_is_given_back() -> None:
    readings = iter([70_000, 4_000, 12])
    waits: list[float] = []
    assert card.wait_until_empty(4, lambda: next(readings), waits.append)
    assert len(waits) == 2


def test_a_gpu_that_stays_in_use_is_not_waited_for_forever() -> None:
    waits: list[float] = []
    assert not card.wait_until_empty(0, lambda: 70_000, waits.append)
    assert sum(waits) == card.WAIT_SECONDS
