"""What plans say of checkpoints and of what failures take."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import parc
from parc.backends import OPTIONS
from parc.printing.checkpoints_text import checkpoint_lines
from parc.printing.plan_json import plan_json
from parc.printing.plan_text import estimate_text
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan

LAYOUT = {"tp": 4, "pp": 4, "vpp": 2, "cp": 2, "dp_shard": 2, "zero": 1}
UNKNOWN = ("cluster.gpu_mtbf=none", "cluster.node_storage=none")


def said(overrides: Sequence[str] = ()) -> str:
    """Of the README's job, in one line."""
    job = parc.load(ROOT / "examples" / "llama3_70b.par", overrides)
    estimate = parc.estimate(job, LAYOUT, "megatron")
    lines = checkpoint_lines(job, "megatron", estimate)
    assert all(line in estimate_text(job, "megatron", estimate) for line in lines)
    return " ".join(" ".join(lines).split())


def test_size_time_number_and_starts_of_a_standard_cluster() -> None:
    text = said()
    assert "saves 988 GB each 5.5 hours" in text and "written in 3.3 minutes" in text
    assert "10 stay: 9.88 TB" in text
    assert "starts, the last checkpoint 10 minutes before the end of each" in text
    assert "(days, cost and energy are of wall-clock time): 0.03 failures a day" in text
    assert "each loses 13 minutes and the steps since the last checkpoint" in text
    assert "async_checkpoints" not in text


def test_without_a_wall_time_no_starts_and_all_that_stay() -> None:
    text = said(("launch.time=none", "train.keep_checkpoints=0"))
    assert "starts" not in text and ", all stay: " in text


def test_an_interval_of_the_jobs_own_is_judged() -> None:
    """1,000 steps are 33 hours, and a failure comes each month."""
    text = said(("train.checkpoint_interval=1000",))
    assert "each 32." in text and "% is expected with the job's own `checkpoint_interval`" in text
    assert "of the steps alone" in text
    share = float(text.partition("goodput ")[2].partition("%")[0])
    assert 95 < share < 98


def test_nothing_known_is_an_hour_and_no_goodput() -> None:
    text = said(UNKNOWN)
    assert "each 59 minutes" in text and "written in" not in text and "goodput" not in text


def test_what_asynchronous_checkpoints_would_bring() -> None:
    slow = ("cluster.gpu_mtbf=50 d", "cluster.storage_bandwidth=5 GB/s")
    assert "`async_checkpoints = true` is expected to bring" in said(slow)
    on = said((*slow, "train.async_checkpoints=true"))
    assert "is expected to bring" not in on and "while training goes on after" in on
    assert "is expected to bring" not in said((*slow, "cluster.node_memory=64 GiB"))


@pytest.mark.parametrize("target", ["megatron", "torchtitan"])
def test_who_writes_none_says_nothing(target: str) -> None:
    plan = sample_plan(target, OPTIONS[target]())
    assert "interval_steps" in str(plan_json(plan)["checkpoints"])
    options = plan.options.model_copy(update={"save": False})
    spec = plan.job.targets[0].model_copy(update={"options": options})
    job = plan.job.model_copy(update={"targets": (spec,)})
    assert checkpoint_lines(job, target, plan.estimate) == []
    assert "checkpoints" not in plan_json(plan.model_copy(update={"job": job}))
