"""A space too large to be priced whole is explained by blocks and bounds as a whole sweep explains it."""

from __future__ import annotations

import pytest

from parc.compiler import plan
from parc.compiler.explain.explaining import Explanation, explain
from parc.compiler.search import best_first
from parc.dsl.job import Job
from tests.support.solver_and_sweep import Parts, job_of, target_of

SMALL: Parts = {
    "cluster": {"nodes": 1, "gpus_per_node": 2},
    "train": {"seq_len": 1024, "global_batch": 4, "steps": 1000},
}
GOALS = (
    "maximize mfu\nrequire memory <= 5 GiB\nforbid micro_batch == 2",
    "maximize mfu\nwithin = 0%\nrequire memory <= 6 GiB\nrequire micro_batch == 1",
)


def explained(job: Job) -> Explanation:
    return explain(plan(job, target_of(job)), target_of(job))


@pytest.mark.parametrize("goal", GOALS)
def test_blocks_explain_as_a_sweep_does(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(goal, **SMALL)
    whole = explained(job)
    monkeypatch.setattr(best_first, "WHOLE", 16)
    parts = explained(job)
    assert (parts.best.value, parts.bare.value) == (whole.best.value, whole.bare.value)
    assert [(each.text, each.best.value) for each in parts.bindings] == [
        (each.text, each.best.value) for each in whole.bindings
    ]
    assert whole.bindings
    of_memory = [
        (one.step.limit, one.step.best.value, other.step.limit, other.step.best.value)
        for one, other in zip(parts.bindings, whole.bindings, strict=True)
        if one.step is not None and other.step is not None
    ]
    assert all(row[:2] == pytest.approx(row[2:]) for row in of_memory)
    for one, other in zip(parts.alternatives, whole.alternatives, strict=True):
        assert (one.decision, one.value, one.why) == (other.decision, other.value, other.why)
        assert (one.best and one.best.value) == (other.best and other.best.value)
    assert [(each.error, each.value, each.layout) for each in parts.thresholds] == [
        (each.error, each.value, each.layout) for each in whole.thresholds
    ]
    assert {each.error.overlap for each in parts.thresholds} == {False, True}
