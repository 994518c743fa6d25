"""No layout that `parc estimate` prices is legal, meets the goal and is better than the plan.

The examples and drawn jobs, each against layouts over all divisors: drawn ones, the best of many by the
prices of even stages, and neighbours of the plan. PARC_NEVER_BEATS=all takes all examples and 500 drawn jobs,
with 200 layouts each.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

import parc
from parc.backends import BACKENDS
from parc.compiler import plan
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.dsl import JobError
from parc.dsl.job import Job
from tests.support.compiled_examples import EXAMPLES
from tests.support.drawn_jobs import readable_job
from tests.support.estimate_against_plan import (
    NO_LAYOUT,
    TOLERANCE,
    admissible,
    gain,
    priced,
    stated_best,
)
from tests.support.promising import challengers
from tests.support.solver_and_sweep import SMALL, example, read, target_of

WHOLE = os.environ.get("PARC_NEVER_BEATS") == "all"
JOBS, LAYOUTS = (500, 200) if WHOLE else (8, 12)
SIZED = SMALL if WHOLE else tuple(each for each in SMALL if each[0] == "llama3_70b")


def planned(case: Case) -> Plan | None:
    """The plan; None where the search says that no layout meets the goal."""
    try:
        return plan(case.job, case.target)
    except JobError as error:
        assert {each.code for each in error.diagnostics} <= NO_LAYOUT, error
        return None


def check_plan(case: Case, found: Plan) -> None:
    """The plan meets its goal by its own numbers, and what it forgoes is within the goal's margin."""
    assert admissible(case, found.estimate)
    best = stated_best(case, found)
    assert gain(case, best, found.estimate) <= case.job.goal.within + TOLERANCE


def check(case: Case, seed: int) -> None:
    found = planned(case)
    if found is not None and found.measured is None:
        check_plan(case, found)
    for layout in challengers(case, found, seed, LAYOUTS):
        rival = priced(case, layout)
        if rival is None:
            continue
        assert found is not None, f"refused, and this meets the goal: {layout}"
        better = gain(case, rival, stated_best(case, found))
        assert better <= TOLERANCE, f"{better:.4%} better with {differing(found, layout)}"


def differing(found: Plan, layout: Mapping[str, int]) -> str:
    """The decisions of a layout that are not the plan's, which stand before them."""
    chosen = {name: getattr(found.layout, name) for name in layout}
    pairs = [f"{name} {chosen[name]} -> {layout[name]}" for name in layout]
    return ", ".join(
        pair for pair, name in zip(pairs, layout, strict=True) if chosen[name] != layout[name]
    )


@pytest.mark.parametrize("seed", range(JOBS))
def test_of_drawn_jobs(seed: int) -> None:
    drawn = readable_job(seed)
    job = drawn.job()
    print(drawn.text)  # shown where the test fails
    check(Case(job, target_of(job)), seed)


@pytest.mark.parametrize(("name", "target"), SIZED)
def test_of_examples(name: str, target: str) -> None:
    check(Case(example(name), BACKENDS[target].target), 0)


def on_megatron(job: Job) -> Plan:
    return plan(job, BACKENDS["megatron"].target)


def test_a_layout_of_the_readme() -> None:
    job = parc.load(EXAMPLES["llama3_70b"])
    case = Case(job, BACKENDS["megatron"].target)
    rival = priced(case, {"tp": 4, "pp": 8})
    assert rival is not None
    assert gain(case, rival, stated_best(case, on_megatron(job))) <= TOLERANCE


def test_a_job_that_requires_a_layout_that_estimate_prices() -> None:
    job = parc.load(EXAMPLES["llama3_70b"])
    case = Case(job, BACKENDS["megatron"].target)
    rival = priced(case, {"tp": 4, "pp": 8})
    assert rival is not None
    asked = [f"{name} == {getattr(rival.layout, name)}" for name in ("tp", "pp", "vpp", "zero")]
    overrides = [f"goal.require={each}" for each in asked]
    required = on_megatron(parc.load(EXAMPLES["llama3_70b"], overrides))
    assert gain(case, rival, required.estimate) <= job.goal.within + TOLERANCE


LLAMA3_8B = """
model llama3_8b from std.llama3_8b {{}}
cluster pod from std.dgx_h100 {{ nodes = {nodes} }}
train {{ seq_len = {length}; global_batch = {batch}; steps = 1000 }}
goal {{
  maximize mfu
  within = 0%
  {condition}
}}
target megatron {{}}
"""


@pytest.mark.parametrize(
    ("nodes", "batch", "length"), [(12, 288, 2048), (12, 288, 4096), (4, 24, 32768)]
)
def test_micro_batches_of_three(nodes: int, batch: int, length: int) -> None:
    def steps(condition: str) -> float:
        text = LLAMA3_8B.format(nodes=nodes, batch=batch, length=length, condition=condition)
        return on_megatron(read(text)).estimate.step_seconds

    assert steps("") <= (1 + TOLERANCE) * steps("require micro_batch == 3")
