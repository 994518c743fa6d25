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
    interval_seconds,
    losses,
    optimal_interval,
)
from parc.dsl import JobError, loads

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
        often, long, again = (np.full_like(tried, value) for value in (mtbf, stopped, restart))
        best = float(Losses(often, long, again, tried).goodput.max())
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
UNKNOWN = "gpu_mtbf = none"
KNOWN = "gpu_mtbf = 50 d; storage_bandwidth = 2 GB/s; restart_time = 15 min"
LAYOUT = {"tp": 2, "dp_shard": 16, "zero": 1}


def job_of(known: str = KNOWN, train: str = "", nodes: str = "4") -> parc.Job:
    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    return loads(JOB.format(nodes=nodes, known=known, train=train), targets=options)


def test_days_cost_and_energy_are_of_wall_clock_time() -> None:
    plain = parc.estimate(job_of(UNKNOWN), LAYOUT, "megatron")
    found = parc.estimate(job_of(), LAYOUT, "megatron")
    assert plain.goodput is None and found.goodput is not None
    assert found.step_seconds == plain.step_seconds and found.mfu == plain.mfu
    share = found.goodput.share
    assert 0.5 < share < 0.99
    for name in ("days", "cost", "energy_joules"):
        assert getattr(found, name) * share == pytest.approx(getattr(plain, name))


def test_the_assumptions_are_those_of_the_job() -> None:
    estimate = parc.estimate(job_of(), LAYOUT, "megatron")
    found, checkpoint = estimate.goodput, estimate.checkpoint
    assert found is not None and checkpoint.write_seconds is not None
    # weights in bf16, and in fp32 a copy of them and Adam's two moments: 14 bytes of 8.03e9 parameters
    assert checkpoint.bytes == pytest.approx(14 * 8.03e9, rel=1e-3)
    assert checkpoint.write_seconds == pytest.approx(checkpoint.bytes / 2e9)
    assert found.mtbf_seconds == pytest.approx(50 * 86400 / 32)
    assert found.failures_per_day == pytest.approx(32 / 50)
    assert found.lost_seconds == pytest.approx(900 + checkpoint.write_seconds)


def test_a_standard_cluster_brings_its_failures() -> None:
    """Four nodes of DGX H100: Meta's rate, a DGX SuperPOD's storage, MegaScale's time to restart."""
    estimate = parc.estimate(job_of(""), LAYOUT, "megatron")
    found = estimate.goodput
    assert found is not None
    assert found.mtbf_seconds == pytest.approx(16384 * 54 / 419 * 86400 / 32, rel=1e-3)
    assert estimate.checkpoint.write_seconds == pytest.approx(
        14 * 8.03e9 / (4 * 20e9 / 32), rel=1e-3
    )
    assert found.interval_seconds == 3 * HOUR and 0.99 < found.share < 1


def test_an_interval_of_the_jobs_own_is_taken_and_days_are_of_the_steps() -> None:
    given = parc.estimate(job_of("", train="checkpoint_interval = 700"), LAYOUT, "megatron")
    plain = parc.estimate(job_of(UNKNOWN), LAYOUT, "megatron")
    assert given.goodput is None and given.days == plain.days
    with pytest.raises(JobError, match="`checkpoint_interval` is given"):
        job_of(train="checkpoint_interval = 700")


def test_who_writes_none_on_a_standard_cluster_is_not_asked_to() -> None:
    job = loads(
        JOB.format(nodes="4", known="", train="").replace(
            "megatron { }", "megatron { save = false }"
        ),
        targets={name: backend.target.options for name, backend in BACKENDS.items()},
    )
    assert parc.estimate(job, LAYOUT, "megatron").goodput is None


def test_storage_of_all_nodes_goes_before_that_of_each() -> None:
    whole = parc.estimate(job_of("storage_bandwidth = 10 GB/s"), LAYOUT, "megatron").checkpoint
    assert whole.write_seconds == pytest.approx(whole.bytes / 10e9)


def test_no_interval_is_longer_than_three_hours_unless_checkpoints_are_expensive() -> None:
    for stopped, mtbf in ((1.0, 1e8), (60.0, 1e8), (600.0, 1e9)):
        (found,) = interval_seconds(column(stopped), column(mtbf))
        assert (
            found == max(3 * HOUR, 100 * stopped) < optimal_interval(column(stopped), column(mtbf))
        )


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
