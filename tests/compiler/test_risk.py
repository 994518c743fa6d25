"""The chance to run out of memory: half at the limit, by the spread around it, its inverse, and shown."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

from parc.compiler.risk import SPREAD, bytes_at, out_of_memory, out_of_memory_each
from parc.printing.plan_text import estimate_lines
from tests.support.sample_plans import sample_plan

RISKS = (1e-6, 0.01, 0.05, 0.3, 0.5, 0.7, 0.99)


#: Student's t with two degrees of freedom: 2.920 scales on one side hold 95 %, 6.965 hold 99 %.
@pytest.mark.parametrize(
    ("scales", "chance"), [(0, 0.5), (-2.920, 0.05), (2.920, 0.95), (-6.965, 0.01), (6.965, 0.99)]
)
def test_the_chance_has_the_tails_of_student_s_t(scales: float, chance: float) -> None:
    assert out_of_memory(exp(scales * SPREAD), 1.0) == pytest.approx(chance, abs=1e-5)


@pytest.mark.parametrize("spread", [0.02, SPREAD, 0.3])
def test_bytes_at_is_the_inverse(spread: float) -> None:
    for risk in RISKS:
        assert out_of_memory(bytes_at(risk, 80.0, spread), 80.0, spread) == pytest.approx(risk)


def test_the_chance_rises_with_the_bytes() -> None:
    sizes = np.geomspace(1e6, 1e12, 2001)
    chances = out_of_memory_each(sizes, 1e9)
    assert (np.diff(chances) > 0).all() and chances[0] > 0 and chances[-1] < 1
    assert chances.tolist() == pytest.approx([out_of_memory(size, 1e9) for size in sizes])


def test_nothing_needed_never_runs_out_and_nothing_there_always() -> None:
    assert out_of_memory(0, 1) == 0.0 == bytes_at(0, 1)
    assert out_of_memory(1, 0) == 1.0
    assert bytes_at(1, 1) == float("inf")


@pytest.mark.parametrize("ceiling", [1.0, 0.92, bytes_at(0.05, 1.0)])
def test_no_risk_under_one_percent_within_a_fifth_of_the_ceiling(ceiling: float) -> None:
    """Of the GPU, of a usual goal, and of a goal that says nothing of memory."""
    assert out_of_memory(0.8 * ceiling, 1.0) >= 0.01


#: By hand, at a spread of 0.08: 72.0 GiB of 80 GiB is 1.317 scales below, 76.0 GiB 0.641, 40.0 GiB 8.66.
@pytest.mark.parametrize(
    ("gib", "scales", "shown"),
    [(72.0, -1.317, "16 % risk"), (76.0, -0.6412, "29 % risk"), (40.0, -8.664, "1 % risk"),
     (20.0, -17.33, "< 1 % risk")],
)  # fmt: skip
def test_a_plan_states_and_shows_it(gib: float, scales: float, shown: str) -> None:
    """Of the card's memory, not of the share of it that the goal allows."""
    plan = sample_plan("megatron")
    memory = {"weights": int(gib * 2**30)}
    stages = tuple(stage.model_copy(update={"memory": memory}) for stage in plan.estimate.stages)
    estimate = plan.estimate.model_copy(update={"stages": stages})
    expected = 0.5 * (1 + scales / sqrt(2 + scales**2))
    assert estimate.out_of_memory == pytest.approx(expected, abs=1e-4)
    assert f"({shown})" in "\n".join(estimate_lines(plan.job, "megatron", estimate))
