"""Plans whose stages lie on the ranks in the shape of a V: solver and sweep agree, ranks hold what they do,
and the simulator takes as long."""

from __future__ import annotations

import numpy as np
import pytest

from parc.api import plan_targets, step_timeline
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import sweep
from parc.compiler.variables import PLACE
from parc.dsl.job import Job
from tests.support.solver_and_sweep import DENSE, LATENT, answers, read, target_of, text_of

MODELS = {
    "dense": DENSE,
    "narrow": {**DENSE, "layers": 13, "vocab": 256_000},
    "moe": {**LATENT, "layers": 11, "dense_layers": 0, "mtp_layers": 0},
    "leading dense": {**LATENT, "layers": 9, "dense_layers": 3, "mtp_layers": 0},
}


SCHEDULES = ("zbv", "dualpipev")


def v_shaped(name: str, goal: str = "", memory: str = "80 GiB", order: str = "zbv") -> Job:
    train = {"seq_len": 2048, "global_batch": 64, "steps": 1000}
    text = text_of(goal, target="torchtitan", model=MODELS[name], memory=memory, train=train)
    return read(text.replace("target torchtitan {}", f"target torchtitan {{ schedule = {order} }}"))


def planned(job: Job) -> Plan:
    (plan,) = plan_targets(job).plans
    return plan


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("memory", ["80 GiB", "6 GiB"])
@pytest.mark.parametrize("order", SCHEDULES)
def test_solver_and_sweep_agree(order: str, name: str, memory: str) -> None:
    found = answers(v_shaped(name, "maximize mfu", memory, order))
    assert found.swept.feasible.any() and found.layout == found.best
    assert found.best["vpp"] == 2 and found.best["pp"] > 1


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("order", SCHEDULES)
def test_a_row_costs_what_all_ranks_of_its_placement_cost(order: str, name: str) -> None:
    """By role as rank by rank: the time of the slowest, the memory of the fullest."""
    job = v_shaped(name, order=order)
    swept = sweep(Space(Case(job, target_of(job))))
    columns = swept.space.layouts
    assert not columns[PLACE].any()
    several = np.flatnonzero(columns["pp"] > 1)
    assert set(np.unique(columns["pp"][several])) >= {2, 4} and set(columns["vpp"][several]) == {2}
    for row in several[np.linspace(0, len(several) - 1, 60).astype(int)]:
        estimate = estimate_layout(swept.space.case, swept.decisions(int(row)))
        assert round(estimate.step_seconds * 1e9) == int(swept.prices.step_ns[row])
        assert estimate.memory_bytes == int(swept.prices.memory_kib[row]) * 1024


@pytest.mark.parametrize("name", MODELS)
def test_the_first_rank_has_both_ends_of_the_model(name: str) -> None:
    estimate = planned(v_shaped(name, "maximize mfu\nrequire pp == 4")).estimate
    assert [stage.embedding for stage in estimate.stages] == [True, False, False, False]
    assert [stage.head for stage in estimate.stages] == [True, False, False, False]
    down, up = zip(*(stage.layers for stage in estimate.stages), strict=True)
    assert (
        estimate.split == (*down, *reversed(up)) and sum(estimate.split) == MODELS[name]["layers"]
    )


@pytest.mark.parametrize(("name", "off"), [("dense", 0.01), ("narrow", 0.03), ("moe", 0.03)])
@pytest.mark.parametrize("pp", [2, 4])
@pytest.mark.parametrize("order", SCHEDULES)
def test_the_simulated_step_is_the_plans(order: str, name: str, off: float, pp: int) -> None:
    """To 1 % where stages are even, and to 3 % where one has two layers beside a neighbour's one."""
    goal = f"maximize mfu\nrequire pp == {pp}\nrequire microbatches >= 32"
    plan = planned(v_shaped(name, goal, order=order))
    simulated = step_timeline(plan.job, "torchtitan", plan.estimate)
    assert simulated.schedule == order
    assert simulated.step_ns == pytest.approx(plan.estimate.step_seconds * 1e9, rel=off)
