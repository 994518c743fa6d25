"""Fronts of `parc sweep` over plans whose MFU or GPUs do not compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.sweep.test_sweep import points
from tests.support.command_line import Parc

#: A step of it is mostly products, which fp8 and newer GPUs shorten by less than their peaks say.
JOB = """
model llama from std.llama3_8b {}
cluster pod from std.dgx_h100 { nodes = 4 }
train { seq_len = 8192; global_batch = 256; tokens = 1T }
target megatron { data = synthetic }
target torchtitan { data = synthetic }
"""
COMMAND = ["sweep", "large.par", "--target", "megatron"]


@pytest.fixture(autouse=True)
def large(run: Parc) -> None:
    """The job in the folder of the commands."""
    Path("large.par").write_text(JOB)


def dominated(plans: list[dict[str, Any]], names: tuple[str, ...]) -> list[bool]:
    """Of each plan whether another one is nowhere worse and somewhere better, of what is to be small."""
    values = [[plan[name] for name in names] for plan in plans]
    return [
        any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True))
            for other in values
        )
        for own in values
    ]


@pytest.mark.parametrize(
    ("over", "weighed", "said"),
    [
        (["train.precision=bf16,fp8"], ("days", "gpus", "energy_joules"), "fp8's 1,979 TFLOP/s"),
        (
            ["cluster.gpu=std.h100,std.b200", "cluster.nodes=2,4"],
            ("days", "energy_joules"),
            "bf16's 2,250 TFLOP/s",
        ),
    ],
    ids=["precisions", "GPUs"],
)
def test_a_front_over_several_peaks_weighs_no_mfu(
    run: Parc, over: list[str], weighed: tuple[str, ...], said: str
) -> None:
    """What MFU is of differs, so that the slower and dearer plan has the higher one."""
    command = COMMAND + [word for each in over for word in ("--over", each)]
    ran = run(*command, "--json")
    plans = [plan for point in points(ran.out) for plan in point["plans"]]
    assert json.loads(ran.out)["front"] == list(weighed)
    assert [plan["front"] for plan in plans] == [not each for each in dominated(plans, weighed)]
    assert any(not plan["front"] for plan in plans)
    highest = max(plans, key=lambda plan: float(plan["mfu"]))
    assert not highest["front"] and len({plan["peak_flops"] for plan in plans}) == 2
    table = run(*command).out
    assert said in table and "MFU is not weighed: it is of each line's own peak" in table
    assert ("GPUs are not weighed" in table) == ("gpus" not in weighed)


def test_where_only_mfu_is_asked_for_over_several_peaks_time_and_energy_are_weighed(
    run: Parc,
) -> None:
    command = [*COMMAND, "--json", "--over"]
    for axis, front, weighed in (
        ("train.precision=bf16,fp8", "mfu", ["days", "energy_joules"]),
        ("cluster.gpu=std.h100,std.b200", "gpus", ["gpus"]),
        ("cluster.gpu=std.h100,std.h200", "mfu", ["mfu"]),
    ):
        ran = run(*command, axis, "--front", front)
        assert json.loads(ran.out)["front"] == weighed


def test_of_one_peak_no_column_tells_it(run: Parc) -> None:
    command = [*COMMAND, "--over", "cluster.nodes=1,2"]
    table = run(*command).out
    assert "TFLOP/s" not in table and "is not weighed" not in table
    plans = [plan for point in points(run(*command, "--json").out) for plan in point["plans"]]
    for plan in plans:
        tokens = plan["tokens_per_second"] / plan["gpus"]
        assert plan["tokens_per_second_per_gpu"] == pytest.approx(tokens, rel=1e-5)
        reached = plan["mfu"] * plan["peak_flops"] / 1e12
        assert plan["tflops_per_gpu"] == pytest.approx(reached, rel=1e-5)
        assert f"  {tokens:,.0f}  {plan['mfu']:.1%}" in table
