"""Drawn jobs: a condition never makes the best layout better, more hardware or choice never makes it worse.

Each job is solved before and after a change, with `within = 0%`. PARC_NEVER_BEATS=all draws 300 a kind.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

from parc.compiler import plan
from parc.compiler.case import Case
from parc.compiler.plan import Estimate
from parc.compiler.target import divisors
from parc.dsl import JobError
from parc.dsl.job import Job
from tests.support.drawn_jobs import CONDITIONS, DrawnJob, readable_job
from tests.support.estimate_against_plan import NO_LAYOUT, TOLERANCE, gain, stated_best
from tests.support.solver_and_sweep import target_of

JOBS = range(300 if os.environ.get("PARC_NEVER_BEATS") == "all" else 2)
#: Shares of the step that fall as other parts of it rise.
SHARES = ("bubble",)
#: Conditions that only take choices away. One on memory takes the place of the default limit on risk, which
#: may be stricter.
HARD = tuple(each for each in CONDITIONS if not each.startswith(("prefer", "require memory")))


def best(job: Job) -> Estimate | None:
    """The best layout that the plan states; None where no layout meets the goal."""
    target = target_of(job)
    try:
        return stated_best(Case(job, target), plan(job, target))
    except JobError as error:
        assert {each.code for each in error.diagnostics} <= NO_LAYOUT, error
        return None


def check_no_better(job: Job, tight: Job) -> None:
    """The best of a job with fewer choices or less hardware is no better than that of the job."""
    loose, found = best(job), best(tight)
    if found is None:
        return
    assert loose is not None, f"refused, and with fewer choices there is {found.layout}"
    better = gain(Case(job, target_of(job)), found, loose)
    assert better <= TOLERANCE, f"{better:.4%} better: {found.layout} than {loose.layout}"


def drawn(seed: int, without: tuple[str, ...] = ()) -> DrawnJob:
    """A job whose plan is the best prediction, without the conditions that speak of some quantities."""
    found = readable_job(seed).exact()
    print(found.text)  # shown where the test fails
    kept = [each for each in found.clauses if not any(name in each for name in without)]
    return replace(found, clauses=tuple(kept))


@pytest.mark.parametrize("seed", JOBS)
def test_a_condition_makes_no_plan_better(seed: int) -> None:
    found, source = drawn(seed), random.Random(seed)
    for condition in source.sample(HARD, 2):
        check_no_better(found.job(), found.saying(condition).job())


@pytest.mark.parametrize("seed", JOBS)
def test_one_more_value_makes_no_plan_worse(seed: int) -> None:
    found, source = drawn(seed), random.Random(seed)
    for name in ("micro_batch", "tp", "pp"):
        values = sorted({source.randint(1, 4), source.choice((1, 2, 3, 8)), 1})
        more = sorted({*values, source.choice((2, 3, 4, 6, 12))})
        loose, tight = (found.saying(f"require {name} in {_set(each)}") for each in (more, values))
        check_no_better(loose.job(), tight.job())


@pytest.mark.parametrize("seed", JOBS)
def test_naming_every_micro_batch_changes_nothing(seed: int) -> None:
    found = drawn(seed)
    free = found.job()
    every = divisors(free.train.global_batch)
    named = found.saying(f"require micro_batch in {_set(every)}").job()
    check_no_better(free, named)
    check_no_better(named, free)


@pytest.mark.parametrize("seed", JOBS)
def test_more_memory_makes_no_plan_worse(seed: int) -> None:
    found, source = drawn(seed, SHARES), random.Random(seed)
    gib = int(str(found.card["memory"]).split()[0])
    more = f"{gib * source.uniform(1.1, 1.5):.3f} GiB"
    check_no_better(replace(found, card={"memory": more}).job(), found.job())


@pytest.mark.parametrize("seed", JOBS)
def test_a_faster_network_makes_no_plan_worse(seed: int) -> None:
    found = drawn(seed, SHARES)
    cluster = found.job().cluster
    network = {**found.cluster, "network": f"{2 * cluster.network / 1e9} GB/s"}
    link = {**found.card, "nvlink": f"{2 * cluster.gpu.nvlink / 1e9} GB/s"}
    check_no_better(replace(found, cluster=network).job(), found.job())
    check_no_better(replace(found, card=link).job(), found.job())


def _set(values: tuple[int, ...] | list[int]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"
