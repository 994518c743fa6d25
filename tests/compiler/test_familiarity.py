"""What is known of a job's stack and GPU decides its band, and a plan says it in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.accuracy import accuracy, fit
from benchmarks.accuracy.familiar_bands import kind_of
from benchmarks.accuracy.setups.stacks import STACKS
from parc import estimate
from parc.backends import BACKENDS
from parc.compiler.familiarity import FAMILIARITIES, OWN
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


def job(cluster: str) -> Job:
    model = "model { layers = 4; hidden = 512; heads = 8; ffn = 2048; vocab = 32000 }\n"
    train = "train { seq_len = 1024; global_batch = 64; steps = 10 }\n"
    targets = "".join(f"target {name} {{ }}\n" for name in BACKENDS)
    return loads(
        model + cluster + train + targets,
        targets={name: each.target.options for name, each in BACKENDS.items()},
    )


DGX = "cluster pod from std.dgx_h100 { nodes = 1 }\n"


@pytest.mark.parametrize(
    ("cluster", "target", "words"),
    [
        (DGX, "megatron", FAMILIARITIES[True, True].words),
        (DGX, "torchtitan", FAMILIARITIES[True, True].words),
        (DGX, "deepspeed", FAMILIARITIES[False, True].words),
        (OWN_GPU % "", "megatron", FAMILIARITIES[True, False].words),
        (OWN_GPU % "", "deepspeed", FAMILIARITIES[False, False].words),
        (OWN_GPU % "step_spread = 0.07", "deepspeed", OWN),
    ],
)
def test_a_job_is_as_familiar_as_its_stack_and_gpu(cluster: str, target: str, words: str) -> None:
    asked = job(cluster)
    found = estimate(asked, {"dp_shard": 8, "zero": 2, "microbatches": 8}, target)
    spreads = {each.words: each.step_spread for each in FAMILIARITIES.values()} | {OWN: 0.07}
    assert (found.familiarity, found.step_spread) == (words, spreads[words])
    text = " ".join(" ".join(estimate_lines(asked, target, found)).split())
    assert f" in four runs of five: {words}" in text
    assert json.loads(json.dumps(estimate_json(found)))["familiarity"] == words


def test_less_is_known_where_the_band_is_wider() -> None:
    spread = {known: each.step_spread for known, each in FAMILIARITIES.items()}
    assert spread[True, True] < spread[True, False] < spread[False, False]
    assert spread[True, True] < spread[False, True] < spread[False, False]


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
    assert measured == {name for name in BACKENDS if today[name] in used}
