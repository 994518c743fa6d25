"""Megatron-LM's own code takes every script that parc emits, and builds the stages that the plan says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.constraints.layouts import sequence_parallel
from parc.backends.megatron.context_ways import sizes, word
from parc.backends.megatron.quantized_weights import kept_quantized
from parc.backends.megatron.stack import fused_loss
from parc.backends.megatron.tensor_overlap import overlapped
from parc.backends.megatron.transformer_engine import ATTENTION, FORMATS, recipe_of
from parc.compiler.case import Case
from parc.compiler.model import parameters
from parc.compiler.pipeline.even_split import ranks_of
from parc.compiler.pipeline.rank_load import rank_counts
from parc.compiler.plan import Plan
from tests.acceptance.support.environments import CHECKOUT, OLDEST_ROOT
from tests.acceptance.support.feature_table import RESULTS
from tests.acceptance.support.generated_jobs import Generated, compile_text
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import capability, recorded, write

#: Generated jobs -> the environment whose code judges them; the oldest release is imported from a checkout.
RELEASES = {"megatron": "megatron", "megatron-0.14": CHECKOUT}
OLDEST = os.environ.get(OLDEST_ROOT)
#: One in so many is built stage by stage.
BUILT = 4


def case_of(job: Generated, folder: Path, build: bool) -> dict[str, Any]:
    """What the emitted script starts, on a GPU of the job's kind."""
    assert job.plan is not None
    here = write(job.files, folder / job.name)
    started = recorded(here / "megatron" / "pretrain.sh", here, job.plan.layout.nodes)
    assert started.world == job.plan.layout.gpus
    assert started.program[0].endswith("/pretrain_gpt.py")
    return {
        "name": job.name,
        "arguments": started.program[1:],
        "environment": started.environment,
        "world": started.world,
        "capability": capability(job.plan.job.cluster.gpu.arch),
        "build": build,
    }


def wanted(plan: Plan) -> dict[str, Any]:
    """Degrees and micro-batches that Megatron-LM should find."""
    layout = plan.layout
    expert_ways = layout.ep * layout.etp * layout.pp
    return {
        "tp": layout.tp,
        "pp": layout.pp,
        "cp": layout.cp,
        "dp": layout.dp,
        "ep": layout.ep,
        "etp": layout.etp if plan.job.model.moe else layout.tp,
        "expert_dp": layout.gpus // (expert_ways if plan.job.model.moe else layout.tp * layout.pp),
    }


def stages(plan: Plan) -> list[dict[str, Any]]:
    """Layers of each chunk and parameters of the first tensor rank, for every stage of the plan."""
    case = Case(plan.job, BACKENDS["megatron"].target)
    placement = ranks_of(plan.job.model, plan.estimate.split, plan.layout.pp)
    layout = plan.layout
    found: list[dict[str, Any]] = []
    for rank, stage in enumerate(plan.estimate.stages):
        counts = rank_counts(case, placement, rank, layout.tp)
        ways = layout.ep * layout.etp
        total = int(np.asarray(parameters.per_rank(counts, layout.tp, ways)))
        found.append({"layers": list(stage.layers), "parameters": total})
    late = plan.options.version != "0.14"
    if late and plan.job.model.mtp_layers and found[-1]["layers"][-1] == 0:
        # Before multi-token prediction the final norm stands beside the last block, a stage earlier.
        size = parameters.norm(plan.job.model, plan.job.model.hidden)
        found[-2]["parameters"] += size
        found[-1]["parameters"] -= size
    return found


def _context(plan: Plan) -> list[Any] | None:
    way, layout = plan.estimate.cp_comm, plan.layout
    if way is None:
        return None
    split = way == "hierarchical"
    return [word(way), list(sizes(plan.job, layout.tp, layout.cp)) if split else None]


def stack(plan: Plan) -> dict[str, Any]:
    """Kernels and traffic that the job asks for, in Megatron-LM's words."""
    options, train, layout = plan.options, plan.job.train, plan.layout
    backend, version = ATTENTION[options.attention_kernel]
    if train.attention == "unfused":
        backend = "unfused"
    elif backend == "fused" and plan.job.cluster.gpu.vendor == "amd":
        backend = "auto"
    recipe = recipe_of(plan.job)
    return {
        "attention": backend,
        "flash": version,
        "fused_loss": fused_loss(plan.job),
        "fp8": recipe and [FORMATS[recipe], recipe],
        "fp4": ["e2m1", "nvfp4"] if plan.job.train.precision == "nvfp4" else None,
        "dispatcher": _dispatcher(plan),
        "context": _context(plan),
        "fp8_params": kept_quantized(plan.job, layout.zero),
        "graph": "full_iteration" if options.cuda_graph else "none",
        "tp_overlap": overlapped(plan.job) and bool(sequence_parallel(plan.job, layout.tp)),
        "dp_overlap": options.dp_overlap and layout.dp * layout.cp > 1,
        "fp32_gradients": options.grad_dtype == "fp32",
    }


@pytest.fixture(scope="module", params=RELEASES)
def target(request: pytest.FixtureRequest) -> str:
    """Generated jobs for the newest and for the oldest release, whose parser is in no wheel."""
    if RELEASES[request.param] == CHECKOUT and not OLDEST:
        pytest.skip(f"{OLDEST_ROOT} is not set: no wheel has the parser of 0.14")
    return str(request.param)


def _dispatcher(plan: Plan) -> list[str | None]:
    chosen, layout = plan.options.dispatcher, plan.layout
    if chosen == "alltoall" or not plan.job.model.moe or layout.tp * layout.ep == 1:
        # Release 0.14 has no choice of backends; later ones name one whether it is used or not.
        unused = None if plan.options.version == "0.14" else "deepep"
        return ["alltoall" if plan.job.model.moe else "allgather", unused]
    return ["flex", chosen]


@pytest.fixture(scope="module")
def answers(
    target: str, batches: Any, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("megatron")
    jobs = batches[target].jobs
    cases = [case_of(job, folder, number % BUILT == 0) for number, job in enumerate(jobs)]
    made = RELEASES[target]
    found = probe(made, "megatron_probe", cases, folder, OLDEST if made == CHECKOUT else None)
    for job, answer in zip(jobs, found, strict=True):
        if answer["stage"] == "accepted" and target == "megatron":  # the table's release
            RESULTS.accept("megatron", job.plan)
    return found


def test_enough_jobs_have_a_layout(target: str, batches: Any) -> None:
    made = batches[target]
    print(f"{target}: {made.tried} jobs tried, {len(made.jobs)} have a layout")
    assert len(made.jobs) == batches.wanted(target)


def test_every_job_is_accepted(target: str, batches: Any, answers: list[dict[str, Any]]) -> None:
    refused = [answer for answer in answers if answer["stage"] != "accepted"]
    assert not refused


def test_groups_and_micro_batches_are_the_plans(
    target: str, batches: Any, answers: list[dict[str, Any]]
) -> None:
    for job, answer in zip(batches[target].jobs, answers, strict=True):
        first = job.plan.layout.microbatches // len(job.plan.job.train.ramp)
        assert answer["microbatches"] == first, job.name
        for groups in answer["groups"]:
            assert {name: groups[name] for name in wanted(job.plan)} == wanted(job.plan), job.name
        assert answer["groups"][0]["stage"] == job.plan.layout.pp - 1, job.name


def test_kernels_and_traffic_are_the_jobs(
    target: str, batches: Any, answers: list[dict[str, Any]]
) -> None:
    for job, answer in zip(batches[target].jobs, answers, strict=True):
        assert answer["stack"] == stack(job.plan), job.name


def test_built_stages_are_the_plans(
    target: str, batches: Any, answers: list[dict[str, Any]]
) -> None:
    built = 0
    for job, answer in zip(batches[target].jobs, answers, strict=True):
        if "stages" in answer:
            built += 1
            assert answer["stages"] == stages(job.plan), job.name
    assert built == len(answers[::BUILT])


def test_every_exchange_is_accepted(tmp_path: Path) -> None:
    """By Megatron-core's own parser and groups, with what it then has in its configuration."""
    text = (
        "model from std.llama3_8b {}\ncluster from std.dgx_h100 { nodes = 4 }\n"
        "train { seq_len = 131072; global_batch = 16; steps = 100 }\n"
        "goal { require cp == 16; require tp == 1 }\n"
        'target megatron { data = "/data/c4"; cp_comm = WAY }\n'
    )
    made = {
        way: compile_text(
            text.replace("WAY", way).replace("16; r", "16; r" if way != "a2a" else "8; r"), way
        )
        for way in ("p2p", "all_gather", "a2a", "hierarchical")
    }
    cases = [case_of(job, tmp_path, False) for job in made.values()]
    answers = probe("megatron", "megatron_probe", cases, tmp_path, None)
    for job, answer in zip(made.values(), answers, strict=True):
        assert answer["stage"] == "accepted", answer
        assert job.plan is not None and answer["stack"]["context"] == _context(job.plan)
        assert job.plan.estimate.cp_comm == job.name
