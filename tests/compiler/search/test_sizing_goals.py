"""How many nodes: goals of size over a range of nodes against all layouts of each count alone."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from parc.compiler import plan
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.search.goal_constraints import WEIGHT, node_time, wall_clock
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import sweep
from parc.dsl import JobError
from tests.support.solver_and_sweep import answers, job_of, target_of

NODES = (1, 2, 3, 4, 8, 16)
TRAIN = {"seq_len": 2048, "global_batch": 768, "steps": 50_000_000}
#: Nothing fails; failures that cost some percents; failures that cost more the more nodes there are.
FAILURES: dict[str, dict[str, object]] = {
    "none": {"gpu_mtbf": "none"},
    "some": {"gpu_mtbf": "40 d", "storage_bandwidth": "50 MB/s", "restart_time": "10 min"},
    "many": {"gpu_mtbf": "2 d", "storage_bandwidth": "50 MB/s", "restart_time": "1 h"},
}
DAY = 86400
#: Fields of an estimate, and their units in those of a sweep.
QUANTITIES = {
    "days": ("days", DAY),
    "cost": ("cost", 1),
    "energy": ("energy_joules", 1),
    "gpus": ("gpus", 1),
}


@cache
def planned(goal: str, nodes: str, failures: str) -> Plan:
    cluster = {"nodes": nodes, "price": "2 $/h", **FAILURES[failures]}
    job = job_of(f"{goal}\nwithin = 0%", cluster=cluster, train=TRAIN)
    return plan(job, target_of(job))


@cache
def alone(nodes: int, failures: str) -> dict[str, npt.NDArray[np.float64]]:
    """Every variable and quantity of all layouts of a job on so many nodes that can run."""
    cluster = {"nodes": nodes, "price": "2 $/h", **FAILURES[failures]}
    job = job_of(cluster=cluster, train=TRAIN)
    swept = sweep(Space(Case(job, target_of(job))))
    shape = swept.feasible.shape
    return {
        name: np.broadcast_to(column, shape)[swept.feasible].astype(np.float64)
        for name, column in swept.values.items()
    }


def fastest(failures: str) -> list[dict[str, float]]:
    """The quickest layout of each count of nodes alone: its values."""
    counts = [alone(nodes, failures) for nodes in NODES]
    found = [(each, int(each["step_time"].argmin())) for each in counts if len(each["step_time"])]
    return [{name: float(column[row]) for name, column in each.items()} for each, row in found]


@pytest.mark.parametrize("failures", FAILURES)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_best_count_of_nodes_is_found(quantity: str, failures: str) -> None:
    goal = f"minimize {quantity}"
    whole = planned(goal, "{1, 2, 3, 4, 8, 16}", failures)
    assert whole.proof.status == "OPTIMAL"
    field, unit = QUANTITIES[quantity]
    best = min(alone(nodes, failures)[quantity].min(initial=np.inf) for nodes in NODES)
    assert getattr(whole.estimate, field) * unit == pytest.approx(best, rel=1e-4)
    assert whole.proof.value == pytest.approx(whole.proof.bound)


def test_steps_of_hours_on_few_nodes_are_weighed_too() -> None:
    """Cost is least on one node, whose step takes longer than 37 minutes."""
    train = {"seq_len": 2048, "global_batch": 6 * 2**20, "steps": 50}
    found = []
    for nodes in ("1", "16", "{1, 16}"):
        cluster = {"nodes": nodes, "price": "2 $/h", **FAILURES["some"]}
        job = job_of("minimize cost\nwithin = 0%", cluster=cluster, train=train)
        found.append(plan(job, target_of(job)).estimate)
    assert found[0].step_seconds > 37 * 60 and found[0].cost < found[1].cost
    assert found[2].cost == pytest.approx(found[0].cost, rel=1e-4)


def test_failures_make_more_nodes_slower() -> None:
    """Without failures the most nodes end first, with many of them fewer do."""
    least = {name: planned("minimize days", "{1, 2, 3, 4, 8, 16}", name) for name in FAILURES}
    assert least["none"].estimate.nodes == 16
    assert least["many"].estimate.nodes < 16


@pytest.mark.parametrize("failures", FAILURES)
def test_the_fewest_gpus_in_time_and_the_fastest_of_them(failures: str) -> None:
    open_ended = fastest(failures)
    limit = sorted(one["days"] for one in open_ended)[2] / DAY * 1.001
    goal = f"require days <= {limit:.6f} d"
    found = planned(f"minimize gpus\n{goal}", "{1, 2, 3, 4, 8, 16}", failures).estimate
    in_time = [one for one in open_ended if one["days"] <= limit * DAY]
    fewest = min(in_time, key=lambda one: one["gpus"])
    assert found.days <= limit and found.gpus == fewest["gpus"]
    assert found.step_seconds == pytest.approx(fewest["step_time"])


@pytest.mark.parametrize("failures", FAILURES)
@pytest.mark.parametrize(
    ("wanted", "least"), [("days", "minimize days"), ("cost", "minimize cost")]
)
def test_an_impossible_limit_is_answered_with_the_least(
    wanted: str, least: str, failures: str
) -> None:
    best = planned(least, "{1, 2, 3, 4, 8, 16}", failures).estimate
    value, unit = (best.days, "d") if wanted == "days" else (best.cost, "$")
    planned(f"require {wanted} <= {value * 1.001:.6f} {unit}", "{1, 2, 3, 4, 8, 16}", failures)
    with pytest.raises(JobError) as error:
        planned(f"require {wanted} <= {value / 3:.6f} {unit}", "{1, 2, 3, 4, 8, 16}", failures)
    (told,) = error.value.diagnostics
    (note,) = [each.message for each in told.notes if "least possible" in each.message]
    said = re.fullmatch(
        rf"the least possible is {wanted} ([\d,.]+) [d$]: (nodes \d+ · )?tp .*", note
    )
    assert said is not None, note
    found = float(said[1].replace(",", ""))
    assert found <= value * 1.01
    goal = f"require {wanted} <= {found * 1.02:.6f} {unit}"
    met = planned(goal, "{1, 2, 3, 4, 8, 16}", failures).estimate
    reached = met.days if wanted == "days" else met.cost
    assert found * 0.98 <= reached <= found * 1.02
    with pytest.raises(JobError):
        planned(f"require {wanted} <= {found * 0.98:.6f} {unit}", "{1, 2, 3, 4, 8, 16}", failures)


def test_limits_that_clash_each_name_their_least() -> None:
    days = planned("minimize days", "{1, 2, 3, 4, 8, 16}", "none").estimate
    cost = planned("minimize cost", "{1, 2, 3, 4, 8, 16}", "none").estimate
    goal = f"require days <= {days.days * 1.01:.6f} d\nrequire cost <= {cost.cost * 1.01:.6f} $"
    with pytest.raises(JobError) as error:
        planned(goal, "{1, 2, 3, 4, 8, 16}", "none")
    (told,) = error.value.diagnostics
    least = [note.message for note in told.notes if "least possible" in note.message]
    assert len(least) == 2
    assert "days" in least[0] and "cost" in least[1]


@pytest.mark.parametrize("objective", ["gpus", "nodes", "days", "cost", "energy"])
def test_the_solver_and_the_sweep_choose_the_same(objective: str) -> None:
    cluster = {"nodes": "1..4", "price": "2 $/h", **FAILURES["many"]}
    found = answers(job_of(f"minimize {objective}", cluster=cluster, train=TRAIN))
    assert found.solution is not None and found.solution.status == "OPTIMAL"
    assert found.layout == found.best


def test_weights_of_nodes_are_in_the_ratio_of_what_a_run_takes() -> None:
    cluster = {"nodes": "{1, 2, 3, 4, 8, 16}", "price": "2 $/h", **FAILURES["many"]}
    job = job_of(cluster=cluster, train=TRAIN)
    case = Case(job, target_of(job))
    columns = {"nodes": np.array(NODES)}
    for weights in (wall_clock(case, columns), node_time(case, columns)):
        assert weights.max() == WEIGHT and weights.min() > 10_000


def test_more_gpus_cannot_be_asked_for() -> None:
    with pytest.raises(JobError, match="`gpus` is not a quantity to maximize"):
        job_of("maximize gpus")
