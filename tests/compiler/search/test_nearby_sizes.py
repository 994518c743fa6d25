"""A job without layouts is offered a size that has some: planned at that size, it has a plan."""

from __future__ import annotations

import re

import pytest

from parc.compiler import plan
from parc.compiler.case import Case
from parc.compiler.search.nearby_sizes import more_nodes, nearest_batch
from parc.dsl import JobError
from parc.dsl.job import Job
from tests.support.solver_and_sweep import TARGETS, Parts, job_of, target_of

#: 14 billion parameters, of which one node of small GPUs does not even hold weights and gradients.
LARGE: Parts = {
    "model": {"layers": 16, "hidden": 8192, "heads": 64, "ffn": 28672, "vocab": 32000},
    "memory": "12 GiB",
    "cluster": {"nodes": 1},
}
#: One head, one layer and a batch of few sequences: more nodes leave no layout, or none that is smaller.
WHOLE: Parts = {
    "target": "deepspeed",
    "model": {"layers": 1, "hidden": 8192, "heads": 1, "ffn": 65536, "vocab": 32000},
    "memory": "3 GiB",
    "train": {"seq_len": 2048, "global_batch": 16, "steps": 10},
}


def helped(job: Job) -> str:
    with pytest.raises(JobError) as error:
        plan(job, target_of(job))
    (complaint,) = error.value.diagnostics
    assert complaint.help
    return complaint.help


def with_nodes(job: Job, nodes: int) -> Job:
    cluster = job.cluster.model_copy(update={"nodes": (nodes,)})
    return job.model_copy(update={"cluster": cluster})


@pytest.mark.parametrize("batch", [64, 24])
def test_the_nodes_that_are_offered_hold_the_job(batch: int) -> None:
    train = {"seq_len": 2048, "global_batch": batch, "steps": 10}
    job = job_of(**(LARGE | {"train": train}))
    offered = re.match(r"([\d,]+) nodes would hold it", helped(job))
    assert offered
    nodes = int(offered[1])
    assert plan(with_nodes(job, nodes), target_of(job)).layout.nodes == nodes


def test_nodes_that_hold_nothing_more_are_not_offered() -> None:
    job = job_of(**WHOLE)
    assert more_nodes(Case(job, target_of(job)), 1.0) is None
    assert helped(job).startswith("more nodes alone do not hold it; GPUs with ")


@pytest.mark.parametrize("target", TARGETS)
def test_the_batch_that_is_offered_has_layouts(target: str) -> None:
    train = {"seq_len": 2046, "global_batch": 509, "steps": 10}
    model = {"layers": 3, "hidden": 1024, "heads": 1, "ffn": 4096, "vocab": 32000}
    job = job_of(target=target, model=model, train=train)
    offered = re.match(r"a global batch of ([\d,]+) has layouts; or ", helped(job))
    assert offered and int(offered[1].replace(",", "")) == 512
    better = job_of(target=target, model=model, train={**train, "global_batch": 512})
    assert plan(better, target_of(better)).layout.dp == 16


def test_no_batch_is_offered_where_none_near_has_layouts() -> None:
    job = job_of(train={"seq_len": 2047, "global_batch": 3, "steps": 10})
    assert nearest_batch(Case(job, target_of(job))) is None
