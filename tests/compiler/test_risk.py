"""The chance to run out of memory: half at the limit, by the spread around it, and shown."""

from __future__ import annotations

from math import exp

import pytest

from parc.compiler.risk import SPREAD, out_of_memory
from tests.support.compiled_examples import compiled


@pytest.mark.parametrize(
    ("deviations", "chance"), [(0, 0.5), (-1, 0.1587), (1, 0.8413), (-2, 0.02275), (-6, 0.0)]
)
def test_the_chance_is_normal_in_the_logarithm(deviations: int, chance: float) -> None:
    assert out_of_memory(exp(deviations * SPREAD), 1.0) == pytest.approx(chance, abs=1e-4)


def test_nothing_needed_never_runs_out_and_nothing_there_always() -> None:
    assert out_of_memory(0, 1) == 0.0
    assert out_of_memory(1, 0) == 1.0


def test_a_plan_states_it() -> None:
    best = compiled("llama3_8b").plans[0].estimate
    assert best.out_of_memory == out_of_memory(best.memory_bytes, best.capacity_bytes)
    assert 0 < best.out_of_memory < 0.25
