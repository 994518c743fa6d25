"""What `estimate` fills in where a layout leaves variables open."""

from __future__ import annotations

import pytest

import parc
from parc.dsl import JobError
from tests.support.compiled_examples import EXAMPLES


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
        ({"recompute": 3}, "`recompute` is 3, above 2"),
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


def test_the_largest_values_are_answered() -> None:
    job = parc.load(EXAMPLES["llama3_70b"])
    for name in ("tp", "pp", "vpp", "cp", "dp", "micro_batch", "recompute_layers", "nodes"):
        with pytest.raises(JobError):
            parc.estimate(job, {name: 10**7}, "megatron")
