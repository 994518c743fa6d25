"""DeepSpeed's engine takes every configuration that parc emits, reads all of it, and finds the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jobs_of_seed import Generated
from launches import recorded, write
from probing import probe
from results import RESULTS

from parc.compiler.plan import Plan


def cases_of(job: Generated, folder: Path) -> list[dict[str, Any]]:
    """The first rank's start, and the last one's in a pipeline, whose ranks differ."""
    assert job.plan is not None
    here = write(job.files, folder / job.name)
    started = recorded(here / "deepspeed" / "launch.sh", here, job.plan.layout.nodes)
    layout = job.plan.layout
    assert started.world == layout.gpus
    ranks = dict.fromkeys((0, layout.gpus - 1 if layout.pp > 1 else 0))
    return [
        {
            "name": f"{job.name} rank {rank}",
            "program": started.program,
            "world": started.world,
            "rank": rank,
        }
        for rank in ranks
    ]


def wanted(plan: Plan, rank: int) -> dict[str, Any]:
    layout = plan.layout
    found = {
        "train_batch": plan.job.train.global_batch,
        "micro_batch": layout.micro_batch,
        "accumulation": layout.microbatches,
        "zero": layout.zero,
        "dp": layout.dp,
    }
    if layout.pp > 1:
        stage = plan.estimate.stages[0 if rank == 0 else -1]
        found |= {"stages": layout.pp, "blocks": sum(stage.layers)}
    return found


@pytest.fixture(scope="module")
def answers(
    batches: Any, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Plan, int, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("deepspeed")
    cases, of = [], []
    for job in batches["deepspeed"].jobs:
        for case in cases_of(job, folder):
            cases.append(case)
            of.append((job.plan, case["rank"]))
    found = probe("deepspeed", "deepspeed_probe", cases, folder)
    for (plan, rank), answer in zip(of, found, strict=True):
        if rank == 0 and answer["stage"] == "accepted":
            RESULTS.accept("deepspeed", plan)
    return [(plan, rank, answer) for (plan, rank), answer in zip(of, found, strict=True)]


def test_enough_jobs_have_a_layout(batches: Any) -> None:
    made = batches["deepspeed"]
    print(f"deepspeed: {made.tried} jobs tried, {len(made.jobs)} have a layout")
    assert len(made.jobs) == batches.wanted("deepspeed")


def test_every_job_is_accepted(answers: Any) -> None:
    assert not [answer for _, _, answer in answers if answer["stage"] != "accepted"]


def test_no_key_is_unread(answers: Any) -> None:
    unread = {answer["name"]: answer["unread"] for _, _, answer in answers}
    assert not {name: keys for name, keys in unread.items() if keys}


def test_batch_and_degrees_are_the_plans(answers: Any) -> None:
    for plan, rank, answer in answers:
        found = wanted(plan, rank)
        assert {name: answer[name] for name in found} == found, answer["name"]
