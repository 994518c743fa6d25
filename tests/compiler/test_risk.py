"""The chance to run out of memory: half at the limit, by the spread around it, and shown."""

from __future__ import annotations

from math import exp, log
from statistics import NormalDist

import pytest

from parc.compiler.risk import SPREAD, out_of_memory
from parc.printing.plan_text import estimate_lines
from tests.support.sample_plans import sample_plan


@pytest.mark.parametrize(
    ("deviations", "chance"), [(0, 0.5), (-1, 0.1587), (1, 0.8413), (-2, 0.02275), (-6, 0.0)]
)
def test_the_chance_is_normal_in_the_logarithm(deviations: int, chance: float) -> None:
    assert out_of_memory(exp(deviations * SPREAD), 1.0) == pytest.approx(chance, abs=1e-4)


def test_nothing_needed_never_runs_out_and_nothing_there_always() -> None:
    assert out_of_memory(0, 1) == 0.0
    assert out_of_memory(1, 0) == 1.0


#: 0.08 in the logarithm: 72.0 GiB of 80 GiB is 1.317 deviations below, 76.0 GiB is 0.641.
@pytest.mark.parametrize(
    ("gib", "shown"), [(72.0, "9 % risk"), (76.0, "26 % risk"), (40.0, "< 1 % risk")]
)
def test_a_plan_states_and_shows_it(gib: float, shown: str) -> None:
    """Of the card's memory, not of the share of it that the goal allows."""
    plan = sample_plan("megatron")
    memory = {"weights": int(gib * 2**30)}
    stages = tuple(stage.model_copy(update={"memory": memory}) for stage in plan.estimate.stages)
    estimate = plan.estimate.model_copy(update={"stages": stages})
    normal = NormalDist(log(gib), 0.08)
    assert estimate.out_of_memory == pytest.approx(1 - normal.cdf(log(80)), abs=1e-9)
    assert shown in "\n".join(estimate_lines(plan.job, "megatron", estimate))
