"""Many machines priced at once are priced as each alone; what a site loses of overlap and to its hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parc.calibrate.parameters import PARAMETERS, Floats, at
from parc.compiler.case import Case
from parc.compiler.pipeline.even_split import split
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.pricing.mechanisms import exposed
from parc.compiler.pricing.varied import varied_parts
from tests.support.solver_and_sweep import DENSE, MOE, answers, job_of, target_of

SITE = {"nodes": 2, "overlap_lost": 0.3, "host_time": 1.7}
GOAL = "minimize step_time"


def case_of(**cluster: Any) -> Case:
    job = job_of(GOAL, cluster={"nodes": 2, **cluster})
    return Case(job, target_of(job))


def seconds(case: Case, **layout: int) -> float:
    return estimate_layout(
        case, decided(**layout), split(case.model, layout.get("pp", 1), 1)
    ).step_seconds


def decided(**layout: int) -> dict[str, int]:
    usual = {"nodes": 2, "tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1, "etp": 1, "zero": 1}
    rest = {"dp_shard": 16, "micro_batch": 1, "recompute": 1, "recompute_layers": 0, "offload": 0}
    return {**usual, **rest, "hpz": 1, "order": 0, **layout}


@pytest.mark.parametrize("pp", [1, 2])
def test_columns_of_figures_give_the_price_of_each(pp: int) -> None:
    case = case_of(**{name: value for name, value in SITE.items() if name != "nodes"})
    layout = decided(pp=pp, dp_shard=16 // pp)
    placement = split(case.model, pp, 1)
    errors: Floats = np.random.RandomState(0).uniform(0.0, 0.2, (5, len(PARAMETERS)))
    together = np.broadcast_to(sum(varied_parts(at(case, errors), layout, placement).values()), 5)
    for number, error in enumerate(errors):
        alone = estimate_layout(at(case, error), layout, placement).step_seconds
        assert float(together[number]) / 1e9 == pytest.approx(alone, rel=1e-6)


def test_lost_overlap_costs_up_to_what_is_overlapped() -> None:
    times = [seconds(case_of(overlap_lost=lost)) for lost in (0, 0.25, 0.5, 1)]
    assert times == sorted(times) and times[0] < times[1]
    assert times[2] - times[0] == pytest.approx(2 * (times[1] - times[0]), rel=0.1)
    exposed_alone = {
        seconds(exposed(case_of(overlap_lost=lost)), tp=2, dp_shard=8) for lost in (0, 1)
    }
    assert len(exposed_alone) == 1 and times[3] < seconds(exposed(case_of())) * 1.1


def test_slow_hosts_slow_down_small_layers_alone() -> None:
    usual, slow = (case_of(host_time=times) for times in (1, 3))
    small = seconds(slow, tp=8, dp_shard=2) / seconds(usual, tp=8, dp_shard=2)
    large = seconds(slow) / seconds(usual)
    assert 1.0 <= large < small < 3.0


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("megatron", DENSE),
        ("megatron", MOE),
        ("torchtitan", DENSE),
        ("torchtitan", MOE),
        ("deepspeed", DENSE),
    ],
)
def test_the_solver_prices_a_site_as_the_sweep_does(target: str, model: dict[str, Any]) -> None:
    found = answers(job_of(GOAL, target=target, model=model, cluster=SITE))
    assert found.solution is not None and found.solution.status == "OPTIMAL"
    best = found.swept.by_objective[0]
    assert found.solution.value == found.swept.prices.step_ns[best]
