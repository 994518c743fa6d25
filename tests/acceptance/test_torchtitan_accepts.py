"""torchtitan's real Trainer is made from every job that parc emits, with the plan's bytes on its ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.torchtitan.smoke import write_text
from parc.compiler.case import Case
from parc.compiler.pipeline.even_split import ranks_of
from parc.compiler.pipeline.rank_load import rank_counts
from parc.compiler.plan import Plan
from tests.acceptance.support.feature_table import RESULTS
from tests.acceptance.support.generated_jobs import Generated
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import capability, recorded, write

#: Parameters are kept in fp32.
PARAMETER_BYTES = 4
MOST_RANKS = 4096
#: Environment -> generated jobs that are written for it, and the probe that runs in it.
RELEASES = {
    "torchtitan-0.2.0": ("torchtitan-0.2.0", "torchtitan_probe"),
    "torchtitan-0.2.2": ("torchtitan", "torchtitan_probe"),
    "torchtitan-0.3.0": ("torchtitan-0.3", "torchtitan_python_probe"),
}


def cases_of(job: Generated, folder: Path) -> list[dict[str, Any]]:
    """The starts of the first and the last rank."""
    assert job.plan is not None
    here = write(job.files, folder / job.name)
    started = recorded(here / "torchtitan" / "launch.sh", here, job.plan.layout.nodes)
    assert started.program[:2] == ("-m", "torchtitan.train")
    assert started.world == job.plan.layout.gpus
    return [
        {
            "name": f"{job.name} rank {rank}",
            "program": started.program,
            "search": started.environment["PYTHONPATH"],
            "world": started.world,
            "rank": rank,
            "capability": capability(job.plan.job.cluster.gpu.arch),
            "assets": str(assets(folder / "assets")),
        }
        for rank in dict.fromkeys((0, started.world - 1))
    ]


def assets(folder: Path) -> Path:
    """One for all jobs of a folder, with a text for each rank."""
    if not folder.exists():
        write_text(folder, MOST_RANKS)
    return folder


def stage_of(plan: Plan, rank: int) -> int:
    """Pipeline stages are the slowest axis of the mesh."""
    return rank * plan.layout.pp // plan.layout.gpus


def whole_biases(plan: Plan, rank: int) -> float:
    """Second biases of gpt_oss's experts: tp leaves them whole (models/gpt_oss/infra/expert_parallel.py:37),
    where the plan divides all of an expert; less than a thousandth of it."""
    model, etp = plan.job.model, plan.layout.etp
    layers = sum(plan.estimate.stages[stage_of(plan, rank)].layers)
    biases = layers * model.experts * model.hidden if model.bias else 0
    return biases * (1 - 1 / etp)


def parameter_bytes(plan: Plan, rank: int) -> float:
    """What the plan says that a rank keeps: its stage's parameters over tp, experts and shards."""
    layout = plan.layout
    case = Case(plan.job, BACKENDS["torchtitan"].target)
    placement = ranks_of(plan.job.model, plan.estimate.split, layout.pp, layout.v_shaped)
    counts = rank_counts(case, placement, stage_of(plan, rank), layout.tp)
    shards = layout.dp_shard * layout.cp
    ways = layout.ep * layout.etp
    common = counts.sharded / layout.tp / shards + counts.replicated / shards
    common += whole_biases(plan, rank) / shards
    return PARAMETER_BYTES * (
        common + counts.experts / (shards * layout.tp if layout.ep > 1 else ways * shards)
    )


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def answers(
    release: str, batches: Any, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Plan, int, dict[str, Any]]]:
    jobs, program = RELEASES[release]
    folder = tmp_path_factory.mktemp("torchtitan")
    cases, of = [], []
    for job in batches[jobs].jobs:
        for case in cases_of(job, folder):
            cases.append(case)
            of.append((job.plan, case["rank"]))
    found = probe(release, program, cases, folder)
    for (plan, rank), answer in zip(of, found, strict=True):
        if rank == 0 and answer["stage"] == "accepted":
            RESULTS.accept(release, plan)
    return [(plan, rank, answer) for (plan, rank), answer in zip(of, found, strict=True)]


def test_enough_jobs_have_a_layout(release: str, batches: Any) -> None:
    jobs = RELEASES[release][0]
    made = batches[jobs]
    print(f"{jobs}: {made.tried} jobs tried, {len(made.jobs)} have a layout")
    assert len(made.jobs) == batches.wanted(jobs)


def test_every_job_is_accepted(answers: Any) -> None:
    assert not [answer for _, _, answer in answers if answer["stage"] != "accepted"]


def test_stages_and_micro_batches_are_the_plans(answers: Any) -> None:
    for plan, rank, answer in answers:
        layout, name = plan.layout, answer["name"]
        assert answer["layers"] == list(plan.estimate.stages[stage_of(plan, rank)].layers), name
        if layout.pp == 1:
            assert answer["accumulation"] == layout.microbatches, name
        else:
            assert answer["accumulation"] * answer["microbatches"] == layout.microbatches, name


def test_parameter_bytes_are_the_plans(answers: Any) -> None:
    for plan, rank, answer in answers:
        assert answer["share_bytes"] == pytest.approx(
            parameter_bytes(plan, rank), rel=1e-9
        ), answer["name"]
