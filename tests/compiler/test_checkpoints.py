"""When checkpoints are written: by time and risk, on every target, with a wall time and without."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import parc
from parc.backends import OPTIONS
from parc.compiler.checkpoints import (
    KEPT,
    LEAST_KEPT,
    UNKNOWN_INTERVAL_SECONDS,
    Checkpointing,
    crowded,
)
from parc.compiler.codes import NO_SPACE
from parc.compiler.plan import Checkpoint, Layout, Plan
from parc.compiler.pricing.goodput import LONGEST_SECONDS
from parc.dsl.job import Launch
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan, train_of

HOUR = 3600.0
TARGETS = ("megatron", "torchtitan", "deepspeed")
LAYOUTS = {
    "megatron": {"tp": 4, "pp": 4, "vpp": 2, "cp": 2, "dp_shard": 2, "zero": 1},
    "torchtitan": {"tp": 8, "dp_shard": 8, "zero": 3, "recompute": 1},
    "deepspeed": {"dp_shard": 64, "zero": 3, "recompute": 2, "offload": 2},
}
#: A step of 120 sequences of a million tokens takes minutes, whatever the layout.
MILLION = (
    "train.seq_len=1048576",
    "train.global_batch=120",
    "train.tokens=none",
    "train.steps=120",
)


def test_as_many_stay_as_there_is_space_for() -> None:
    whole = checkpoints("torchtitan")
    size = whole.estimate.checkpoint.bytes / 1e12
    assert whole.room is None and whole.keep == KEPT
    for fit, keep in ((30, KEPT), (5.5, 4), (3.01, 2), (2.5, LEAST_KEPT), (0.5, LEAST_KEPT)):
        found = checkpoints("torchtitan", [f"cluster.checkpoint_space={fit * size:.6f} TB"])
        assert found.keep == keep, fit
        told = [each.code for each in crowded(found)]
        assert told == ([NO_SPACE] if fit < 3 else []), fit
    given = checkpoints(
        "torchtitan", [f"cluster.checkpoint_space={5.5 * size:.6f} TB", "train.keep_checkpoints=7"]
    )
    (warning,) = crowded(given)
    assert given.keep == 7 and warning.help == "`keep_checkpoints = 4` in `train`, or more space"


def checkpoints(target: str, overrides: Sequence[str] = ()) -> Checkpointing:
    """Of the README's job: Llama 3 70B on 64 H100s."""
    job = parc.load(ROOT / "examples" / "llama3_70b.par", overrides)
    return Checkpointing(job, target, parc.estimate(job, LAYOUTS[target], target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("time", ["none", "48 h", "24 h", "4 h"])
def test_the_readmes_job_writes_by_time(target: str, time: str) -> None:
    """1,000 steps of 119 s were 33 hours, and of 133 s on torchtitan more than a start of 24 hours."""
    found = checkpoints(target, (f"launch.time={time}",))
    written = found.estimate.checkpoint.write_seconds
    assert written is not None and 60 < written < 600
    assert (
        found.interval_seconds <= max(LONGEST_SECONDS, 100 * written) + found.estimate.step_seconds
    )
    if found.start_seconds is not None:
        assert 3 * found.interval_seconds <= found.start_seconds
    assert found.signal_seconds >= found.estimate.step_seconds + 2 * written


@pytest.mark.parametrize("known", [(), ("cluster.gpu_mtbf=none",)])
def test_a_million_tokens_write_by_time(known: Sequence[str]) -> None:
    """1,000 steps of 750 s were 8.7 days, of a run that had 120."""
    layout = {"tp": 8, "pp": 2, "cp": 4, "dp_shard": 1, "zero": 1, "recompute": 2}
    overrides = (*MILLION, "launch.time=24 h", *known)
    job = parc.load(ROOT / "examples" / "llama3_70b.par", overrides)
    found = Checkpointing(job, "megatron", parc.estimate(job, layout, "megatron"))
    step, start = found.estimate.step_seconds, found.start_seconds
    assert start is not None and step > 300
    assert found.interval_steps == 1 or 3 * found.interval_seconds <= start
    assert found.signal_seconds >= step + 300
    assert found.written > 3


def drawn(seed: int) -> Plan:
    """A plan of any target, with steps of milliseconds to hours and any storage and wall time."""
    draw = random.Random(seed)
    target = draw.choice(TARGETS)
    layout = Layout(dp_shard=16, zero=1 if target == "megatron" else 3, microbatches=4)
    step, written = 10 ** draw.uniform(-2, 4), 10 ** draw.uniform(-1, 3.5)
    time = draw.choice([None, 10 ** draw.uniform(3, 6)])
    train = train_of(keep_checkpoints=draw.choice([None, 0]))
    plan = sample_plan(
        target, OPTIONS[target](), layout=layout, launch=Launch(time=time), train=train
    )
    size = Checkpoint(bytes=1e12, write_seconds=draw.choice([None, written]))
    changed = {"step_seconds": step, "checkpoint": size}
    return plan.model_copy(update={"estimate": plan.estimate.model_copy(update=changed)})


@pytest.mark.parametrize("seed", range(120))
def test_any_job_has_checkpoints_in_time_and_room_for_the_last(seed: int) -> None:
    plan = drawn(seed)
    found, step = plan.checkpoints, plan.estimate.step_seconds
    written = plan.estimate.checkpoint.write_seconds or 0.0
    assert plan.checkpoint_interval == found.interval_steps >= 1
    assert plan.signal_seconds >= max(600, step + 300, step + 2 * written)
    longest = max(UNKNOWN_INTERVAL_SECONDS, 100 * written)
    assert found.interval_steps == 1 or found.interval_seconds <= longest + step / 2
    if found.start_seconds is not None and found.interval_steps > 1:
        assert 3 * found.interval_seconds <= found.start_seconds
    assert found.kept == min(found.written, found.keep or found.written)
    if plan.job.train.keep_checkpoints is None:
        assert found.kept <= KEPT
    spread = range(found.retained_steps, plan.job.train.total_steps + 1, found.retained_steps)
    assert found.retained_steps % found.interval_steps == 0 and len(spread) <= max(found.kept, 1)
