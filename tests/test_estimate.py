"""What `estimate` fills in where a layout leaves variables open."""

from __future__ import annotations

from compiled import EXAMPLES

import parc


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
