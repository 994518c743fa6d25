"""Where explanations come from: limits of conditions, overlap's exposure, sums of terms."""

from __future__ import annotations

import os

import numpy as np
import pytest

from parc.api import plan_targets
from parc.backends import BACKENDS
from parc.compiler import estimate, plan
from parc.compiler.algebra import Arrays
from parc.compiler.case import Case
from parc.compiler.explain.against import against
from parc.compiler.explain.conditions import limit_of
from parc.compiler.explain.explaining import explain
from parc.compiler.explain.straddling import Leaving, part, seconds_inside
from parc.compiler.pricing.estimate import decisions
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import sweep
from parc.compiler.time.rank_groups import Straddling
from parc.compiler.time.step import step_time
from parc.compiler.variables import ORDER, PLACE, SEARCHED
from tests.support.drawn_jobs import readable_job
from tests.support.solver_and_sweep import example, job_of, target_of

#: Drawn jobs; the last one, which takes half a minute, is for `make explain`.
PLACED_OTHERWISE = (3, 35, 42, 37)[: None if os.environ.get("PARC_EXPLAIN") == "all" else 3]
LIMITS = {
    "require memory <= 6 GiB": ("memory", True),
    "forbid memory > 6 GiB": ("memory", True),
    "require 6 GiB >= memory": ("memory", True),
    "require mfu > 5%": ("mfu", False),
    "forbid 5% > mfu": ("mfu", False),
    "forbid tp >= 4": ("tp", True),
    "require tp == 2": None,
    "require tp * pp <= 4": None,
    "require memory <= tp * 4 GiB": None,
    "forbid tp > 2 or pp > 2": None,
}


@pytest.mark.parametrize("clause", LIMITS)
def test_what_a_condition_limits(clause: str) -> None:
    (constraint,) = job_of(clause).goal.constraints
    assert limit_of(constraint) == LIMITS[clause]


def test_overlap_falls_where_exposed_traffic_makes_another_layout_better() -> None:
    """The steps of all layouts where so much more of what overlaps is exposed."""
    goal = "maximize mfu\nwithin = 0%\nforbid recompute == full\nrequire micro_batch == 1"
    job = job_of(goal, cluster={"nodes": 1})
    target = target_of(job)
    found = explain(plan(job, target), target)
    (overlap,) = (each for each in found.thresholds if each.error.overlap)
    assert overlap.value is not None and overlap.layout is not None
    swept = sweep(Space(Case(job, target)))
    chosen = decisions(swept.space.case, found.plan.estimate)
    same = [swept.space.layouts[name] == chosen[name] for name in SEARCHED]
    (ours,) = np.flatnonzero(np.logical_and.reduce(same))
    rows = np.flatnonzero(swept.feasible)

    def behind(share: float) -> int:
        lost = 1 - (1 - job.cluster.overlap_lost) * (1 - share)
        cluster = job.cluster.model_copy(update={"overlap_lost": lost})
        exposing = Case(job.model_copy(update={"cluster": cluster}), target)
        steps = step_time(Arrays(exposing, swept.space.layouts))[0]
        return int(steps[ours] - steps[rows].min())

    assert behind(0.0) == 0
    assert behind(overlap.before) == 0 < behind(overlap.value)
    assert behind(overlap.farthest) > 0


@pytest.mark.parametrize("seed", PLACED_OTHERWISE)
def test_the_chosen_layout_placed_otherwise_is_no_other_choice(seed: int) -> None:
    """Slower memory favours other stages for these layouts, and no other layout yet."""
    job = readable_job(seed).exact().job()
    found = explain(plan(job, target_of(job)), target_of(job))
    chosen = {name: getattr(found.plan.layout, name) for name in ORDER}
    assert found.plan.layout.pp > 1
    assert all(each.layout != chosen for each in found.thresholds)


def test_traffic_inside_its_domain_is_that_of_the_same_stages() -> None:
    """Where the domain is as it was, so is the traffic, in whichever placement the layers are."""
    case = Case(example("llama3_405b"), BACKENDS["megatron"].target)
    found = estimate(case.job, case.target, {"tp": 8, "pp": 16, "vpp": 1})
    assert decisions(case, found)[PLACE] and case.cluster.domain == 8
    groups = Leaving("tp", 8, 1, Straddling(leaving=1, total=2048, domain=8), 2)
    assert seconds_inside(case, found, groups) == part(found, "tp") > 0


def test_terms_of_a_difference_add_up_to_it() -> None:
    cluster = {"nodes": "1..2", "price": "2 $/h", "gpu_mtbf": "none"}
    job = job_of("minimize cost\nrequire nodes >= 1", cluster=cluster)
    target = target_of(job)
    found = plan(job, target)
    other = against(found, target, {"nodes": 3 - found.layout.nodes, "tp": 2}).difference
    assert other.scale == other.there.layout.gpus / other.here.layout.gpus != 1
    assert sum(each.change for each in other.time) == pytest.approx(other.seconds, rel=1e-9)
    assert sum(each.change for each in other.memory) == other.memory_bytes
    costlier = other.there.cost / other.here.cost
    assert 1 + other.seconds / other.here.step_seconds == pytest.approx(costlier, rel=1e-6)


def test_a_layout_beside_the_goal_says_what_it_breaks() -> None:
    job = job_of("maximize mfu\nrequire tp == 1\nforbid zero == 1")
    target = target_of(job)
    given = {"tp": 2, "zero": 1, "dp_shard": 8, "micro_batch": 1}
    found = against(plan(job, target), target, given)
    assert found.breaks == ("`require tp == 1`", "`forbid zero == 1`")


def test_a_space_that_the_search_kept_is_explained_as_one_that_is_priced_again() -> None:
    goal = "maximize mfu\nforbid recompute == full\nrequire micro_batch == 1"
    job = job_of(goal, cluster={"nodes": 1})
    planned = plan_targets(job, keep=True)
    found = planned.plans[0]
    known = planned.whole[found.target]
    assert explain(found, target_of(job), known) == explain(found, target_of(job))
