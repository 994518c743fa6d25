"""What is known of a job's stack and GPU decides its band, and a plan says it in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.accuracy import accuracy, fit
from benchmarks.accuracy.familiar_bands import kind_of, ran_as
from benchmarks.accuracy.setups.stacks import STACKS
from parc import estimate
from parc.backends import BACKENDS
from parc.compiler.familiarity import OWN, Known, spread
from parc.dsl import Job, loads, std_entries, std_gpu
from parc.printing.plan_json import estimate_json
from parc.printing.plan_text import estimate_lines

#: The framework of the table of stacks whose newest entry is a target of today.
FRAMEWORKS = {"megatron": "megatron-lm", "deepspeed": "deepspeed", "torchtitan": "torchtitan"}
OWN_GPU = (
    'gpu mine { arch = "sm90"; memory = 80 GiB; memory_bandwidth = 3 TB/s; bf16 = 900 TFLOP/s; '
    "nvlink = 400 GB/s; %s }\n"
    "cluster { gpu = mine; gpus_per_node = 8; nodes = 1; network = 50 GB/s }\n"
)


def job(cluster: str, experts: bool = False) -> Job:
    more = "experts = 8; topk = 2; expert_ffn = 1024" if experts else ""
    model = f"model {{ layers = 4; hidden = 512; heads = 8; ffn = 2048; vocab = 32000; {more} }}\n"
    train = "train { seq_len = 1024; global_batch = 64; steps = 10 }\n"
    targets = "".join(f"target {name} {{ }}\n" for name in BACKENDS)
    return loads(
        model + cluster + train + targets,
        targets={name: each.target.options for name, each in BACKENDS.items()},
    )


DGX, B200 = (
    "cluster pod from std.dgx_h100 { nodes = 1 }\n",
    "cluster pod from std.dgx_b200 { nodes = 1 }\n",
)
RAN = Known(stack=True, kind=True, experts=False)
ELSEWHERE = Known(stack=True, kind=False, experts=False)
NEVER = Known(stack=False, kind=False, experts=False)


@pytest.mark.parametrize(
    ("cluster", "target", "experts", "known"),
    [
        (DGX, "megatron", False, RAN),
        (DGX, "megatron", True, Known(stack=True, kind=True, experts=True)),
        (DGX, "torchtitan", False, RAN),
        (DGX, "torchtitan", True, Known(stack=True, kind=False, experts=True)),
        (DGX, "deepspeed", False, NEVER),
        (B200, "megatron", False, RAN),
        (B200, "torchtitan", False, ELSEWHERE),
        (OWN_GPU % "", "megatron", False, ELSEWHERE),
        (OWN_GPU % "", "deepspeed", False, NEVER),
        (OWN_GPU % "step_spread = 0.07", "deepspeed", False, None),
    ],
)
def test_a_job_is_as_familiar_as_runs_of_its_kind(
    cluster: str, target: str, experts: bool, known: Known | None
) -> None:
    asked = job(cluster, experts)
    found = estimate(asked, {"dp_shard": 8, "zero": 2, "microbatches": 8}, target)
    words, width = (known.words, spread(known)) if known else (OWN, 0.07)
    assert found.familiarity == words and found.step_spread == pytest.approx(width)
    text = " ".join(" ".join(estimate_lines(asked, target, found)).split())
    assert f" in four runs of five: {words}" in text
    assert json.loads(json.dumps(estimate_json(found)))["familiarity"] == words


def test_less_is_known_where_the_band_is_wider() -> None:
    assert spread(RAN) < spread(ELSEWHERE) <= spread(NEVER)
    for known in (RAN, ELSEWHERE, NEVER):
        assert spread(replace(known, experts=True)) > spread(known)


def test_known_gpus_and_stacks_are_those_of_the_table() -> None:
    """GPUs with a fitted efficiency, whichever of its kind ran; targets whose newest entry of stacks ran."""
    setups = [
        each for found in fit.timed_rows(accuracy.DATA).values() for each in fit.setups(found)
    ]
    kinds = {kind_of(each) for each in setups}
    gpus = {each.name: std_gpu(each.name) for each in std_entries() if each.kind == "gpu"}
    ran = {name for name, gpu in gpus.items() if (gpu.arch, gpu.matmul_efficiency) in kinds}
    assert {name for name, gpu in gpus.items() if gpu.measured} == ran
    newest = {stack.framework: stack for stack in STACKS}
    # Of torchtitan the entry of 2026 compiles the loss, too: those of before are its runs otherwise.
    used = [replace(each.stack, since="", compiled=()) for each in setups]
    measured = {name for name in BACKENDS if BACKENDS[name].target.measured}
    today = {
        name: replace(newest[title], since="", compiled=()) for name, title in FRAMEWORKS.items()
    }
    assert measured == {name for name in BACKENDS if today.get(name) in used}
    ran_on = {
        (name, arch, kind == "experts")
        for name, each in BACKENDS.items()
        for kind, archs in each.target.measured_on.items()
        for arch in archs
    }
    assert ran_on == {ran_as(each) for each in setups}
