"""What `estimate` fills in where a layout leaves variables open."""

from __future__ import annotations

import random

import pytest

import parc
from parc.compiler.plan import Estimate
from parc.compiler.target import divisors
from parc.dsl import JobError
from parc.dsl.job import Job
from tests.support.compiled_examples import EXAMPLES
from tests.support.solver_and_sweep import TARGETS, job_of


def test_open_variables_follow_the_goal() -> None:
    """38 GiB of the fastest completion would fit the card, but not the goal's 90 %."""
    job = parc.load(EXAMPLES["llama2_7b_pcie"])
    found = parc.estimate(job, {"pp": 4}, "megatron")
    assert found.memory_bytes <= found.ceiling_bytes < found.capacity_bytes


def test_what_the_goal_forbids_is_priced_all_the_same() -> None:
    job = parc.load(EXAMPLES["llama3_70b"])
    found = parc.estimate(job, {"tp": 8, "pp": 4, "recompute": 2}, "megatron")
    assert found.layout.recompute_name == "full" and found.step_seconds > 0


def test_what_fits_nowhere_takes_least_memory() -> None:
    job = parc.load(EXAMPLES["gpt3_175b"])
    found = parc.estimate(job, {"tp": 8, "pp": 1, "zero": 0}, "megatron")
    assert found.memory_bytes > found.capacity_bytes
    assert found.layout.micro_batch == 1 and found.layout.recompute_name == "full"


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        ({"zero": 4}, "`zero` is 4, above 3"),
        ({"recompute": 5}, "`recompute` is 5, above 4"),
        ({"offload": 3}, "`offload` is 3, above 2"),
        ({"tp": 10**20}, f"`tp` is {10**20:,}, above 10,000,000"),
        ({"gpus": 10**30}, f"`gpus` is {10**30:,}, above 10,000,000"),
        ({"pp": 0}, "`pp` is 0, below 1"),
    ],
)
def test_values_beyond_all_layouts_are_named(layout: dict[str, int], complaint: str) -> None:
    with pytest.raises(JobError) as refused:
        parc.estimate(parc.load(EXAMPLES["llama3_70b"]), layout, "megatron")
    assert complaint in str(refused.value)


def test_words_of_the_language_are_values() -> None:
    job = parc.load(EXAMPLES["llama3_70b"])
    for word, number in (("none", 0), ("full", 2)):
        found = parc.estimate(job, {"tp": 8, "pp": 4, "recompute": word}, "megatron")
        assert found == parc.estimate(job, {"tp": 8, "pp": 4, "recompute": number}, "megatron")


@pytest.mark.parametrize(
    ("layout", "complaints"),
    [
        ({"recompute": "ful"}, ("`recompute` does not know `ful`", "did you mean `full`?")),
        ({"recompute": "x"}, ("`recompute` does not know `x`", "none, selective, fine, moe, full")),
        ({"tp": "8"}, ("`tp` is a whole number, not `8`",)),
        ({"tp": 2.5, "pp": "two"}, ("`tp` is a whole number", "`pp` is a whole number")),
        ({"tq": "none"}, ("unknown layout variable `tq`",)),
    ],
)
def test_values_that_are_none_are_named(
    layout: dict[str, int | str], complaints: tuple[str, ...]
) -> None:
    with pytest.raises(JobError) as refused:
        parc.estimate(parc.load(EXAMPLES["llama3_70b"]), layout, "megatron")
    assert all(complaint in str(refused.value) for complaint in complaints)


def test_the_largest_values_are_answered() -> None:
    job = parc.load(EXAMPLES["llama3_70b"])
    for name in ("tp", "pp", "vpp", "cp", "dp", "micro_batch", "recompute_layers", "nodes"):
        with pytest.raises(JobError):
            parc.estimate(job, {name: 10**7}, "megatron")


def priced(job: Job, layout: dict[str, int], target: str) -> Estimate | None:
    try:
        found = parc.estimate(job, layout, target)
    except JobError:
        return None
    return found if found.memory_bytes <= found.capacity_bytes else None


def test_a_batch_that_leaves_only_long_pipelines_and_short_parts_of_sequences() -> None:
    """1,024 GPUs and 31 sequences: no candidate of cp is large enough, and 64 ranks of 64 tokens run."""
    job = job_of(
        model={"layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336, "vocab": 32000},
        cluster={"nodes": 128},
        train={"seq_len": 4096, "global_batch": 31, "steps": 1000},
    )
    assert priced(job, {"tp": 4, "pp": 4, "cp": 64}, "megatron") is not None
    (plan,) = parc.compile(job)
    assert plan.layout.gpus == 1024 and 31 % plan.layout.dp == 0


def test_a_degree_that_the_goal_asks_for_is_searched() -> None:
    """tp 16 leaves the node of eight GPUs, so that it is no candidate; Megatron-LM runs it."""
    job = job_of("require tp == 16")
    assert priced(job, {"tp": 16}, "megatron") is not None
    (plan,) = parc.compile(job)
    assert plan.layout.tp == 16


@pytest.mark.parametrize("target", TARGETS)
def test_what_estimate_prices_plan_finds(target: str) -> None:
    """Jobs of odd sizes: wherever a random layout is legal and fits, the search has one too."""
    source = random.Random(7)
    legal = 0
    for _ in range(40):
        nodes = source.choice((1, 2, 3, 16))
        train = {
            "seq_len": source.choice((255, 512, 1023, 1026, 2048)),
            "global_batch": source.choice((1, 3, 8, 31, 48)),
            "steps": 100,
        }
        job = job_of(target=target, cluster={"nodes": nodes}, train=train)
        layout, left = {}, 8 * nodes
        for name in source.sample(DEGREES[target], source.randint(1, len(DEGREES[target]))):
            layout[name] = source.choice(divisors(left))
            left //= layout[name]
        if priced(job, layout, target):
            legal += 1
            assert parc.compile(job), (train, layout)
    assert legal > 3


def test_a_sequence_that_tp_does_not_divide_stays_whole() -> None:
    """1,023 tokens: what sequence parallelism divides of 1,024 is whole on each of 4 ranks, and one
    all-reduce stands for its two collectives."""
    odd, even = (
        priced(
            job_of(gpu="a100_80", train={"seq_len": length, "global_batch": 16, "steps": 9}),
            LAYOUT,
            "megatron",
        )
        for length in (1023, 1024)
    )
    assert odd is not None and even is not None
    kept = [price.fullest.memory["activations"] for price in (odd, even)]
    assert kept[0] > 1.5 * kept[1]
    assert 0.4 * even.time["tp"] < odd.time["tp"] < 0.6 * even.time["tp"]


DEGREES = {
    "megatron": ["tp", "pp", "cp"],
    "torchtitan": ["tp", "pp", "cp"],
    "deepspeed": ["pp", "cp"],
    "accelerate": ["dp_shard"],
}
LAYOUT = {"tp": 4, "recompute": 0, "micro_batch": 1, "zero": 1}
