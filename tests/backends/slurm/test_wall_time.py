"""A wall time: when checkpoints are written, when SLURM asks for the last one, what is never reached."""

from __future__ import annotations

import re

import pytest

from parc.backends import BACKENDS, OPTIONS
from parc.backends.slurm import LAUNCHER
from parc.compiler.checkpoints import UNKNOWN_INTERVAL_SECONDS
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Launch
from tests.support.sample_plans import sample_plan, train_of

HOUR = 3600.0
#: What is emitted of an interval, by target.
SAVES = {
    "megatron": r"--save-interval +(\d+)",
    "torchtitan": r"^interval = (\d+) +# steps",
    "deepspeed": r"--save-interval=(\d+)",
}


def plan_of(target: str, launch: Launch, step: float, interval: int | None = None) -> Plan:
    layout = Layout(dp_shard=16, zero=1 if target == "megatron" else 3, microbatches=4)
    found = sample_plan(
        target,
        OPTIONS[target](),
        layout=layout,
        launch=launch,
        train=train_of(checkpoint_interval=interval),
    )
    estimate = found.estimate.model_copy(update={"step_seconds": step})
    return found.model_copy(update={"estimate": estimate})


def emitted_interval(plan: Plan) -> int:
    files = BACKENDS[plan.target].emit(plan)
    (found,) = set(re.findall(SAVES[plan.target], "\n".join(files.values()), re.MULTILINE))
    return int(found)


@pytest.mark.parametrize("target", SAVES)
@pytest.mark.parametrize("step", [0.5, 133.0, 750.0, 3 * HOUR])
def test_a_start_writes_at_least_three_checkpoints_or_one_each_step(
    target: str, step: float
) -> None:
    plan = plan_of(target, Launch(time=24 * HOUR), step)
    interval, start = emitted_interval(plan), 24 * HOUR - plan.signal_seconds
    assert interval == 1 or 3 * interval * step <= start
    assert interval == hour_of(step) or 3 * (interval + 1) * step > start


def hour_of(step: float) -> int:
    return max(1, round(UNKNOWN_INTERVAL_SECONDS / step))


@pytest.mark.parametrize("target", SAVES)
@pytest.mark.parametrize("step", [0.05, 0.5, 133.0, 750.0, 3 * HOUR])
def test_without_a_wall_time_checkpoints_are_an_hour_apart(target: str, step: float) -> None:
    """A thousand steps of 119 s were 33 hours, of 750 s 8.7 days."""
    interval = emitted_interval(plan_of(target, Launch(), step))
    assert interval == hour_of(step) and (interval == 1 or interval * step <= 1.5 * HOUR)


def test_what_the_job_says_is_not_shortened() -> None:
    assert plan_of("megatron", Launch(time=HOUR), 750.0, 500).checkpoint_interval == 500


@pytest.mark.parametrize("step", [1.0, 250.0, 299.0, 400.0, 2000.0])
def test_the_signal_leaves_a_step_and_time_to_write(step: float) -> None:
    plan = plan_of("torchtitan", Launch(time=24 * HOUR), step)
    text = LAUNCHER.emit(plan, "torchtitan/launch.sh")["slurm/torchtitan.sbatch"]
    (before,) = re.findall(r"--signal=B:USR1@(\d+)", text)
    assert int(before) >= max(600, step + 300)
    assert f"TORCH_ELASTIC_SHUTDOWN_TIMEOUT:-{before}}}" in text
    assert not list(LAUNCHER.warnings(plan))


@pytest.mark.parametrize(
    ("launch", "step", "interval", "says"),
    [
        (Launch(time=24 * HOUR, signal=600.0), 750.0, None, "signal comes 600 s before the end"),
        (Launch(time=HOUR), 2 * HOUR, None, "a step takes 7200 s, and a start has 0 s"),
        (
            Launch(time=24 * HOUR),
            133.0,
            1000,
            "a start has 23.8 h: only the signal has one written",
        ),
        (Launch(time=24 * HOUR, signal=0.0), 133.0, 1000, "a start has 24.0 h: none is written"),
    ],
)
def test_what_is_never_reached_is_told(
    launch: Launch, step: float, interval: int | None, says: str
) -> None:
    (found,) = LAUNCHER.warnings(plan_of("torchtitan", launch, step, interval))
    assert (found.code, found.severity) == ("PAR625", "warning")
    assert says in found.message and found.help


def test_without_a_signal_none_is_late() -> None:
    plan = plan_of("torchtitan", Launch(time=24 * HOUR, signal=0.0), 750.0)
    assert not list(LAUNCHER.warnings(plan))
    text = LAUNCHER.emit(plan, "torchtitan/launch.sh")["slurm/torchtitan.sbatch"]
    assert "--signal" not in text and "last_checkpoint" not in text


@pytest.mark.parametrize(
    ("target", "none"), [("megatron", False), ("torchtitan", False), ("deepspeed", None)]
)
def test_who_writes_no_checkpoints_is_asked_for_none(target: str, none: bool | None) -> None:
    """The script says that it asks for a last checkpoint where the target writes one."""
    kept = plan_of(target, Launch(time=24 * HOUR), 133.0)
    assert "for a last checkpoint" in script(kept)
    spec = kept.job.targets[0]
    options = spec.options.model_copy(update={"save": none})
    job = kept.job.model_copy(update={"targets": (spec.model_copy(update={"options": options}),)})
    text = script(kept.model_copy(update={"job": job}))
    assert "last checkpoint" not in text and "--signal" not in text


def script(plan: Plan) -> str:
    return LAUNCHER.emit(plan, "launch.sh")[f"slurm/{plan.target}.sbatch"]
