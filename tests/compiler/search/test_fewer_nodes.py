"""Fewer nodes that would do: said where they would, as they are planned alone, and searched for seldom."""

from __future__ import annotations

import pytest

from parc import api
from parc.api import plan_targets
from parc.backends import BACKENDS
from parc.compiler.plan import Plan
from parc.compiler.search import fewer_nodes
from parc.compiler.search.fewer_nodes import undivided
from parc.printing.fewer_text import fewer_lines
from parc.printing.plan_json import plan_json
from parc.report.choice import fewer
from tests.support.solver_and_sweep import block, job_of, read

#: A batch and layers that the 72 GPUs of a rack do not divide, nor the 104 of thirteen nodes.
TRAIN = {"seq_len": 4096, "global_batch": 1024, "tokens": "1T"}
DATA = {"data": "synthetic"}


def planned(cluster: str, nodes: object, goal: str = "maximize mfu", **other: object) -> Plan:
    text = (
        block("model qwen from std.qwen3_235b_a22b", {})
        + block(f"cluster rack from std.{cluster}", {"nodes": nodes})
        + block("train", {**TRAIN, **other})
        + f"goal {{ {goal} }}\n"
        + block("target megatron", DATA)
    )
    return plan_targets(read(text), fewer=True).plans[0]


@pytest.mark.parametrize(
    "goal", ["maximize mfu", "minimize days", "minimize energy", "minimize gpus"]
)
def test_of_72_gpus_64_would_do(goal: str) -> None:
    plan = planned("gb300_nvl72", 18, goal)
    assert plan.layout.gpus == 72 and plan.fewer is not None
    alone = planned("gb300_nvl72", 16, goal)
    assert plan.fewer.estimate == alone.estimate and alone.fewer is None
    assert alone.estimate.step_seconds <= plan.estimate.step_seconds * 1.01
    line = " ".join(each.strip() for each in fewer_lines(plan))
    assert line.startswith("fewer   16 of 18 nodes (64 of 72 GPUs) are predicted ")
    assert "`--set cluster.nodes=16`" in line and "`--set cluster.nodes=16`" in fewer(plan)
    said = plan_json(plan)["fewer"]
    assert isinstance(said, dict) and (said["nodes"], said["gpus"]) == (16, 64)


def test_of_several_racks_each_lends_as_many_nodes() -> None:
    plan = planned("gb300_nvl72", 72, global_batch=4096)
    assert plan.fewer is not None and plan.fewer.nvlink_domain == 64
    line = " ".join(each.strip() for each in fewer_lines(plan))
    assert "16 of the 18 nodes of each rack (256 of 288 GPUs)" in line
    assert "`--set cluster.nodes=64 --set cluster.nvlink_domain=64`" in line


@pytest.mark.parametrize(
    ("nodes", "goal", "batch"),
    [
        (16, "maximize mfu", 1024),
        (18, "minimize memory", 1024),
        ("16..18", "maximize mfu", 1024),
        (18, "maximize mfu", 1152),
        (18, "maximize mfu; require nodes == 18", 1024),
    ],
    ids=["even", "memory", "a range", "a batch that 72 divides", "the goal"],
)
def test_nothing_is_said_where_it_would_not_help(nodes: object, goal: str, batch: int) -> None:
    plan = planned("gb300_nvl72", nodes, goal, global_batch=batch)
    assert plan.fewer is None and fewer_lines(plan) == [] and fewer(plan) == ""
    assert "fewer" not in plan_json(plan)


def test_what_takes_longer_is_not_said() -> None:
    """Nine nodes of a dense model lose little by pipelines of nine stages: eight would take longer."""
    job = job_of("maximize mfu", cluster={"nodes": 9}, train={**TRAIN, "global_batch": 72})
    assert plan_targets(job, fewer=True).plans[0].fewer is None


def test_an_ordinary_job_is_not_searched_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one whose GPUs divide the batch, nor one that computes for most of its step."""

    def searched(*_: object) -> list[Plan]:
        raise AssertionError("a second search")

    monkeypatch.setattr(fewer_nodes, "plan_all", searched)
    for nodes in (1, 2, 8):
        job = job_of("maximize mfu", cluster={"nodes": nodes}, train={**TRAIN, "global_batch": 64})
        for plan in plan_targets(job).plans:
            assert fewer_nodes.fewer_nodes(plan, BACKENDS[plan.target].target) is None
    busy = read(
        block("model llama from std.llama3_8b", {})
        + block("cluster pod from std.h100_pod", {"nodes": 3})
        + block("train", {**TRAIN, "seq_len": 8192})
        + block("target megatron", DATA)
    )
    assert plan_targets(busy, fewer=True).plans[0].layout.pp % 3 == 0


def test_what_a_batch_and_layers_leave_undivided() -> None:
    job = job_of("", model={**_SHAPE, "layers": 12}, train={**TRAIN, "global_batch": 80})
    assert [undivided(job, gpus) for gpus in (64, 72, 24, 40, 120, 56, 600)] == [
        1, 3, 1, 1, 1, 7, 5,
    ]  # fmt: skip


_SHAPE = {"hidden": 1024, "heads": 16, "kv_heads": 8, "ffn": 4096, "vocab": 32000}


def test_only_who_asks_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep plans every count of nodes itself; `parc.compile` of Python gives plans alone."""
    monkeypatch.setattr("parc.compiler.fewer_nodes", None)
    assert api.compile(job_of("maximize mfu", cluster={"nodes": 3}))
