"""examples/questions/: each job checks, has a proven plan for every target, and answers its question."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache

import pytest

import parc
from parc.api import Planned, cautions, plan_targets
from parc.compiler.plan import Plan
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.canonical import formatted
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "questions"
JOBS = {path.stem: path for path in sorted(FOLDER.glob("*.par"))}
#: Seconds of this process; what a reader is told to expect is five.
SOON = 15
NODE = 4  # GPUs of a tray of GB200


@cache
def planned(name: str) -> tuple[Planned, float]:
    begun = time.process_time()
    found = plan_targets(parc.load(JOBS[name]))
    return found, time.process_time() - begun


def gpus(plan: Plan) -> int:
    return plan.layout.nodes * plan.job.cluster.gpus_per_node


def offloads(plan: Plan) -> bool:
    return plan.layout.offload > 0 and gpus(plan) == 1


def keeps_off_pcie(plan: Plan) -> bool:
    return plan.layout.tp == 1


def divides_the_model(plan: Plan) -> bool:
    layout = plan.layout
    return layout.tp * layout.pp * (layout.dp_shard if layout.zero == 3 else 1) >= 8


def divides_sequences(plan: Plan) -> bool:
    return plan.layout.cp > 1


def spreads_experts(plan: Plan) -> bool:
    return plan.layout.ep > 1


def uses_the_whole_rack(plan: Plan) -> bool:
    """All 72, with a group that a tray of four could not hold."""
    layout = plan.layout
    groups = (layout.tp * layout.cp, layout.dp_shard, layout.pp)
    return gpus(plan) == 72 and any(group > NODE for group in groups)


def keeps_to_the_budget(plan: Plan) -> bool:
    """The goal's bounds in dollars and days, from the price and the tokens of the job."""
    days = 200e9 / plan.estimate.tokens_per_second / 86_400
    return days <= 21 and days * 24 * gpus(plan) * 2.5 <= 40_000


ANSWERS: dict[str, Callable[[Plan], bool]] = {
    "one_gpu": offloads,
    "cards_without_nvlink": keeps_off_pcie,
    "seventy_on_64": divides_the_model,
    "long_context": divides_sequences,
    "experts": spreads_experts,
    "gb200_rack": uses_the_whole_rack,
    "by_budget": keeps_to_the_budget,
}


def test_every_question_has_an_answer_and_a_row() -> None:
    listed = re.findall(r"\]\(questions/(\w+)\.par\)", (FOLDER.parent / "README.md").read_text())
    assert sorted(listed) == sorted(ANSWERS) == sorted(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_a_question_begins_its_job_and_the_job_is_in_form(name: str) -> None:
    text = JOBS[name].read_text()
    head = text[: text.index("\n\n")]
    assert head.startswith("# ") and "?" in head
    assert formatted(Source(name, text)) == text


@pytest.mark.parametrize("name", JOBS)
def test_every_target_has_a_proven_plan_soon(name: str) -> None:
    found, seconds = planned(name)
    assert [str(each) for each in found.diagnostics()] == []
    job = found.plans[0].job
    assert {plan.target for plan in found.plans} == {spec.name for spec in job.targets}
    assert {plan.proof.status for plan in found.plans} == {"OPTIMAL"}
    assert [each.message for spec in job.targets for each in cautions(job, spec.name)] == []
    assert seconds < SOON


@pytest.mark.parametrize("name", JOBS)
def test_the_plan_answers_the_question(name: str) -> None:
    found, _ = planned(name)
    assert [plan.target for plan in found.plans if not ANSWERS[name](plan)] == []


def test_tensor_parallelism_over_pcie_is_priced_worse() -> None:
    """The reason that the job without NVLink gives, and not a rule that forbids it."""
    job = parc.load(JOBS["cards_without_nvlink"], ["goal.require=tp == 4"])
    forced = {plan.target: plan for plan in plan_targets(job).plans}
    for plan in planned("cards_without_nvlink")[0].plans:
        if plan.target in forced:
            assert forced[plan.target].estimate.step_seconds > plan.estimate.step_seconds
    assert forced
