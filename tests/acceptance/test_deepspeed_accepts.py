"""DeepSpeed's engine takes every configuration that parc emits, reads all of it, and finds the plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parc.compiler.model import parameters
from parc.compiler.plan import Plan, Stage
from parc.dsl.model import Model
from tests.acceptance.support.environments import OLDEST_DEEPSPEED
from tests.acceptance.support.feature_table import RESULTS
from tests.acceptance.support.generated_jobs import Generated
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import recorded, write

#: Rows of the narrow model's table of positions.
LENGTH = 512
#: Jobs with parc's own model, with the Llama of transformers, and for the oldest release -> the environment
#: whose code judges them.
BATCHES = {
    "deepspeed": "deepspeed",
    "deepspeed-hf": "deepspeed",
    "deepspeed-0.15": f"deepspeed-{OLDEST_DEEPSPEED}",
}


def narrow(plan: Plan) -> Model:
    """The model as it is built: narrow, with all its layers and heads, and widths that they and tp divide."""
    model = plan.job.model
    hidden = -(-32 // model.heads) * model.heads
    widths = {"hidden": hidden, "head_dim": 4, "ffn": 16 * plan.layout.tp}
    return model.model_copy(
        update=widths | {"vocab": 256 + model.vocab % 16, "max_positions": None}
    )


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
            "narrow": sizes(job.plan),
            "world": started.world,
            "rank": rank,
        }
        for rank in ranks
    ]


def sizes(plan: Plan) -> dict[str, int]:
    """What model.json is to say of the narrow model instead."""
    model = narrow(plan)
    found = {name: getattr(model, name) for name in ("hidden", "head_dim", "ffn", "vocab")}
    length = {"seq_len": min(plan.job.train.seq_len, LENGTH)}
    return found | length | ({"max_positions": LENGTH} if model.position == "learned" else {})


def built(plan: Plan, stage: Stage) -> int:
    """Parameters of a rank of this stage, by the formulas that the plan was priced with; the first of the
    ranks that share a head has the most of its rows."""
    model, tp = narrow(plan), plan.layout.tp
    counts = parameters.dense_layer(model) * sum(stage.layers)
    whole = 0
    if stage.embedding:
        whole = parameters.embedding(model, seq_len=LENGTH).total
    if stage.head:
        counts += parameters.head(model, -(-model.vocab // tp) * tp)
    if stage.head and model.tied and not stage.embedding:
        whole = model.vocab * model.hidden
    return whole + int(parameters.per_rank(counts, tp, 1))


def wanted(plan: Plan, rank: int) -> dict[str, Any]:
    layout = plan.layout
    stage = plan.estimate.stages[0 if rank == 0 else -1]
    found = {
        # Ranks that share a sample by tensor parallelism count.
        "train_batch": plan.job.train.global_batch * layout.tp,
        "micro_batch": layout.micro_batch,
        "accumulation": layout.microbatches,
        "zero": layout.zero,
        "dp": layout.dp,
        "tp": layout.tp,
        "parameters": built(plan, stage),
    }
    if layout.pp == 1:
        train = plan.job.train
        found["full_size"] = parameters.total(plan.job.model, seq_len=train.seq_len)
    if layout.pp > 1:
        found |= {"stages": layout.pp, "blocks": sum(stage.layers)}
    return found


@pytest.fixture(scope="module")
def answers(
    batches: Any, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Plan, int, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("deepspeed")
    judged = []
    for name in BATCHES:
        (folder / name).mkdir()
        found = _judged(name, batches[name].jobs, folder / name)
        judged += found
        for plan, rank, answer in found:
            # The table is of the newest release.
            newest = BATCHES[name] == "deepspeed"
            if newest and rank == 0 and answer["stage"] == "accepted":
                RESULTS.accept("deepspeed", plan)
    return judged


def _judged(
    name: str, jobs: Sequence[Generated], folder: Path
) -> list[tuple[Plan, int, dict[str, Any]]]:
    """The plan, the rank and the engine's answer of each case."""
    cases, of = [], []
    for job in jobs:
        assert job.plan is not None
        for case in cases_of(job, folder):
            cases.append(case)
            of.append((job.plan, case["rank"]))
    found = probe(BATCHES[name], "deepspeed_probe", cases, folder)
    return [(plan, rank, answer) for (plan, rank), answer in zip(of, found, strict=True)]


@pytest.mark.parametrize("name", BATCHES)
def test_enough_jobs_have_a_layout(batches: Any, name: str) -> None:
    made = batches[name]
    print(f"{name}: {made.tried} jobs tried, {len(made.jobs)} have a layout")
    assert len(made.jobs) == batches.wanted(name)


def test_every_job_is_accepted(answers: Any) -> None:
    assert not [answer for _, _, answer in answers if answer["stage"] != "accepted"]


def test_no_key_is_unread(answers: Any) -> None:
    unread = {answer["name"]: answer["unread"] for _, _, answer in answers}
    assert not {name: keys for name, keys in unread.items() if keys}


def test_batch_and_degrees_are_the_plans(answers: Any) -> None:
    for plan, rank, answer in answers:
        found = wanted(plan, rank)
        assert {name: answer[name] for name in found} == found, answer["name"]
