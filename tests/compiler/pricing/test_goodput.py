"""Goodput: Daly's published numbers, a simulation of failures, limits, and what estimates make of it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import parc
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.pricing.goodput import (
    LEAST,
    Losses,
    checkpoint_bytes,
    losses,
    optimal_interval,
)
from parc.dsl import loads

MINUTE, HOUR = 60.0, 3600.0


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def lost(mtbf: float, stopped: float, restart: float, interval: float) -> Losses:
    return Losses(column(mtbf), column(stopped), column(restart), column(interval))


@pytest.mark.parametrize(
    ("mtbf", "minutes"), [(24 * HOUR, 117), (6 * HOUR, 57), (15 * MINUTE, 9.1)]
)
def test_the_interval_is_that_of_daly(mtbf: float, minutes: float) -> None:
    """Figures 3 to 5 of Daly 2006: checkpoints of five minutes."""
    (found,) = optimal_interval(column(5 * MINUTE), column(mtbf))
    assert found / MINUTE == pytest.approx(minutes, abs=0.5 if minutes > 10 else 0.05)


def simulated(mtbf: float, stopped: float, restart: float, interval: float, segments: int) -> float:
    """Useful over wall-clock time of a run that is killed at random, restarts included."""
    drawn, wall = random.Random(7), 0.0
    for _ in range(segments):
        needed = interval + stopped
        while (until := drawn.expovariate(1 / mtbf)) < needed:
            wall, needed = wall + until, restart + interval + stopped
        wall += needed
    return segments * interval / wall


@pytest.mark.parametrize(
    ("mtbf", "stopped", "restart"), [(6, 0.02, 0.2), (1, 0.05, 0.1), (0.5, 0.2, 0.3)]
)
def test_the_closed_form_is_what_runs_do(mtbf: float, stopped: float, restart: float) -> None:
    (interval,) = optimal_interval(column(stopped), column(mtbf))
    (found,) = lost(mtbf, stopped, restart, interval).goodput
    assert found == pytest.approx(simulated(mtbf, stopped, restart, interval, 60_000), rel=0.01)


def test_no_other_interval_is_much_better() -> None:
    drawn = random.Random(3)
    for _ in range(200):
        mtbf = 10 ** drawn.uniform(2, 7)
        stopped = mtbf * 10 ** drawn.uniform(-6, -0.5)
        restart = mtbf * drawn.uniform(0, 0.5)
        tried = np.geomspace(stopped / 100, mtbf * 20, 4000)
        best = max(float(lost(mtbf, stopped, restart, each).goodput[0]) for each in tried)
        ours = lost(
            mtbf, stopped, restart, float(optimal_interval(column(stopped), column(mtbf))[0])
        )
        assert float(ours.goodput[0]) > best * (1 - 2e-3)


def test_goodput_falls_with_every_loss_and_reaches_one() -> None:
    drawn = random.Random(5)
    for _ in range(300):
        mtbf, stopped, restart = (10 ** drawn.uniform(1, 6) for _ in range(3))
        interval = float(optimal_interval(column(stopped), column(mtbf))[0])
        (share,) = lost(mtbf, stopped, restart, interval).goodput
        assert LEAST <= share < 1
        for worse in (
            lost(mtbf / 2, stopped, restart, interval),
            lost(mtbf, stopped * 2, restart, interval),
            lost(mtbf, stopped, restart * 2, interval),
        ):
            assert worse.goodput[0] <= share
    for mtbf in (1e8, 1e10, 1e12):
        (interval,) = optimal_interval(column(10.0), column(mtbf))
        (share,) = lost(mtbf, 10.0, 600.0, interval).goodput
        assert 1 - share == pytest.approx(math.sqrt(2 * 10.0 / mtbf), rel=0.05)


JOB = """
model from std.llama3_8b {{}}
cluster from std.dgx_h100 {{ nodes = {nodes}; price = 2 $/h; {known} }}
train {{ seq_len = 8192; global_batch = 512; tokens = 1T; {train} }}
target megatron {{ }}
target deepspeed {{ }}
target torchtitan {{ }}
"""
KNOWN = "gpu_mtbf = 50 d; storage_bandwidth = 2 GB/s; restart_time = 15 min"
LAYOUT = {"tp": 2, "dp_shard": 16, "zero": 1}


def job_of(known: str = KNOWN, train: str = "", nodes: str = "4") -> parc.Job:
    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    return loads(JOB.format(nodes=nodes, known=known, train=train), targets=options)


def test_days_cost_and_energy_are_of_wall_clock_time() -> None:
    plain = parc.estimate(job_of(""), LAYOUT, "megatron")
    found = parc.estimate(job_of(), LAYOUT, "megatron")
    assert plain.goodput is None and found.goodput is not None
    assert found.step_seconds == plain.step_seconds and found.mfu == plain.mfu
    share = found.goodput.share
    assert 0.5 < share < 0.99
    for name in ("days", "cost", "energy_joules"):
        assert getattr(found, name) * share == pytest.approx(getattr(plain, name))


def test_the_assumptions_are_those_of_the_job() -> None:
    found = parc.estimate(job_of(), LAYOUT, "megatron").goodput
    assert found is not None
    # weights in bf16, and in fp32 a copy of them and Adam's two moments: 14 bytes of 8.03e9 parameters
    assert found.checkpoint_bytes == pytest.approx(14 * 8.03e9, rel=1e-3)
    assert found.write_seconds == pytest.approx(found.checkpoint_bytes / 2e9)
    assert found.mtbf_seconds == pytest.approx(50 * 86400 / 32)
    assert found.failures_per_day == pytest.approx(32 / 50)
    assert found.lost_seconds == pytest.approx(900 + found.write_seconds)


@pytest.mark.parametrize("target", ["megatron", "deepspeed", "torchtitan"])
def test_every_target_writes_what_it_keeps(target: str) -> None:
    case = Case(job_of(), BACKENDS[target].target)
    each = {"megatron": 14, "deepspeed": 14, "torchtitan": 12}[target]
    assert checkpoint_bytes(case) == pytest.approx(each * 8.03e9, rel=1e-3)


def test_an_asynchronous_checkpoint_stops_training_for_less_and_loses_more() -> None:
    waits = losses(Case(job_of(), BACKENDS["megatron"].target), column(32))
    goes_on = losses(
        Case(job_of(train="async_checkpoints = true"), BACKENDS["megatron"].target), column(32)
    )
    assert waits is not None and goes_on is not None
    assert goes_on.stopped[0] < waits.stopped[0] and goes_on.lost[0] > waits.lost[0]
    assert goes_on.interval[0] >= waits.stopped[0]
    assert goes_on.goodput[0] > waits.goodput[0]


@pytest.mark.parametrize(
    ("target", "file", "text"),
    [
        ("megatron", "megatron/pretrain.sh", "--save-interval {}"),
        ("torchtitan", "torchtitan/train.toml", "interval = {}"),
        ("deepspeed", "deepspeed/train.py", '"--save-interval", type=int, default={}'),
    ],
)
def test_launch_files_have_the_interval(target: str, file: str, text: str) -> None:
    from parc.api import Planned, emit

    job = job_of()
    (plan,) = parc.compile(job, [target])
    assert plan.estimate.goodput is not None
    steps = plan.estimate.goodput.interval_steps
    assert steps == plan.checkpoint_interval
    assert steps == round(plan.estimate.goodput.interval_seconds / plan.estimate.step_seconds)
    _, emitted = emit(Planned(job, (plan,)))
    assert text.format(steps) in emitted.files[file]


def test_a_run_that_hardly_ends_has_a_price() -> None:
    known = "gpu_mtbf = 20 s; storage_bandwidth = 1 MB/s; restart_time = 10 d"
    found = parc.estimate(job_of(known), LAYOUT, "megatron")
    assert found.goodput is not None and found.goodput.share == LEAST
    assert math.isfinite(found.days)
