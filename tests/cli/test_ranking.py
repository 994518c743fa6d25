"""Plans of several targets: the objective decides, then the time of a step, then the order in the job."""

from __future__ import annotations

from itertools import permutations

import pytest

from parc import api
from parc.api import Planned
from parc.compiler.plan import Plan
from parc.printing.plan_json import planned_json
from parc.printing.plan_text import plans_text
from parc.ranking import may_change_places, ranked
from parc.report.markdown import report_markdown
from tests.support.command_line import Parc
from tests.support.solver_and_sweep import DENSE, block, job_of, read

NAMES = ("megatron", "torchtitan", "deepspeed")


def drawn(goal: str, figures: dict[str, dict[str, float]]) -> dict[str, Plan]:
    """Plans of a goal by target whose estimates have the figures given."""
    job = job_of(f"{goal}\nrequire tp == 2; require pp == 1; require cp == 1")
    (plan,) = api.plan_targets(job).plans
    found = {}
    for target, changes in figures.items():
        gpus = int(changes.get("gpus", plan.layout.gpus))
        dp_shard = gpus // (plan.layout.tp * plan.layout.pp * plan.layout.cp)
        layout = plan.layout.model_copy(update={"dp_shard": dp_shard, "dp_replicate": 1})
        own = {name: value for name, value in changes.items() if name != "gpus"}
        estimate = plan.estimate.model_copy(update={**own, "layout": layout})
        found[target] = plan.model_copy(update={"target": target, "estimate": estimate})
    return found


def order(goal: str, figures: dict[str, dict[str, float]]) -> list[str]:
    return [plan.target for plan in ranked(drawn(goal, figures).values())]


@pytest.mark.parametrize("names", list(permutations(NAMES[:2])))
def test_of_as_many_gpus_the_faster_target_is_best(names: tuple[str, str], run: Parc) -> None:
    """Both on the two nodes that memory takes, whatever their order in the job."""
    targets = "".join(block(f"target {name}", {"data": "synthetic"}) for name in names)
    text = (
        block("model small", {**DENSE, "layers": 24, "hidden": 2048, "ffn": 8192})
        + block("cluster pod from std.dgx_h100", {"nodes": 2})
        + block("train", {"seq_len": 4096, "global_batch": 64, "steps": 1000})
        + "goal { minimize gpus }\n"
        + targets
    )
    found = api.plan_targets(read(text))
    first, second = found.plans
    assert first.layout.gpus == second.layout.gpus == 16
    assert first.estimate.step_seconds < second.estimate.step_seconds
    best = next(line for line in plans_text(found).plain.splitlines() if "◀ best" in line)
    assert best.split()[0] == first.target == planned_json(found)["best"]
    assert f"## {first.target}" in report_markdown(found)


def test_the_time_of_a_step_decides_where_the_objective_does_not() -> None:
    figures = {
        "megatron": {"gpus": 64, "step_seconds": 127.5},
        "torchtitan": {"gpus": 64, "step_seconds": 120.5},
        "deepspeed": {"gpus": 72, "step_seconds": 90.0},
    }
    assert order("minimize gpus", figures) == ["torchtitan", "megatron", "deepspeed"]
    free = {name: {**found, "cost": 0.0} for name, found in figures.items()}
    assert order("minimize cost", free) == ["deepspeed", "torchtitan", "megatron"]


def test_the_order_in_the_job_decides_what_no_printed_digit_does() -> None:
    step = {"megatron": 100.00001, "torchtitan": 100.0, "deepspeed": 100.00002}
    figures = {name: {"step_seconds": value, "mfu": 0.4} for name, value in step.items()}
    assert order("maximize mfu", figures) == list(NAMES)


@pytest.mark.parametrize("quantity", ["risk", "memory", "energy", "hfu", "bubble", "days"])
def test_every_quantity_of_a_goal_ranks(quantity: str) -> None:
    found = api.plan_targets(job_of(f"minimize {quantity}\nrequire pp == 1", target="megatron"))
    assert ranked(found.plans) == found.plans


def test_bands_overlap_only_in_what_ranks() -> None:
    """A plan on more GPUs takes no better place however far a step is off; one on as many may."""
    figures = {
        "megatron": {"gpus": 64, "step_seconds": 120.0, "mfu": 0.40},
        "torchtitan": {"gpus": 64, "step_seconds": 125.0, "mfu": 0.384},
        "deepspeed": {"gpus": 72, "step_seconds": 90.0, "mfu": 0.47},
    }
    plans = drawn("minimize gpus", figures)
    first, near, more = ranked(plans.values())
    assert may_change_places(first, near) and not may_change_places(first, more)
    lines = plans_text(Planned(first.job, (first, near, more))).plain.splitlines()
    rows = [line for line in lines if line.startswith(("  megatron", "  torchtitan", "  deepsp"))]
    assert [" GPUs  step " in row for row in rows] == [True] * 3
    assert ["overlaps the best within the error bar" in row for row in rows] == [False, True, False]


def test_the_report_tells_gpus_where_targets_differ_in_them() -> None:
    same = drawn("minimize gpus", {name: {"step_seconds": 9.0} for name in NAMES[:2]})
    other = drawn("minimize gpus", {"megatron": {"gpus": 8}, "torchtitan": {"gpus": 16}})
    job = same["megatron"].job
    assert "| target | MFU" in report_markdown(Planned(job, tuple(same.values())))
    assert "| target | GPUs | MFU" in report_markdown(Planned(job, tuple(other.values())))
