"""torchtitan told to end saves and goes on as if it had not ended; killed, it goes on from its interval."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from parc.compiler.plan import Layout
from tests.acceptance.support.processes import started_by
from tests.acceptance.test_torchtitan_trains import (
    ALONE,
    LIMIT_SECONDS,
    LOSS,
    PIPELINE,
    STEPS,
    Run,
    Version,
    log_of,
    plan_of,
    trained,
    training,
)

FAMILY = "llama3_8b"
#: Steps of an interval, and a step after which runs are ended.
INTERVAL, ENDED = 4, 5


def logged(folder: Path, step: int) -> None:
    """Waits until the log tells of the step."""
    until = time.monotonic() + LIMIT_SECONDS
    while not (folder / "log").exists() or len(log_of(folder).steps) < step:
        assert time.monotonic() < until, log_of(folder).log[-4000:]
        time.sleep(0.02)


def same(found: Run, unbroken: Run, first: int) -> None:
    """The losses of an unbroken run, from step `first` to the last."""
    wanted = unbroken.steps[first - 1 :]
    assert len(found.steps) == len(wanted), found.log[-4000:]
    for step, (each, other) in enumerate(zip(found.steps, wanted, strict=True), first):
        assert each[0] == pytest.approx(other[0], rel=LOSS), step


def saved(folder: Path) -> list[int]:
    """The steps of the checkpoints there are."""
    return sorted(int(each.name[5:]) for each in folder.rglob("step-*") if each.is_dir())


def whole(folder: Path) -> list[int]:
    """The steps of the checkpoints that are written to their end."""
    return [int(each.parent.name[5:]) for each in folder.rglob("step-*/.metadata")]


def renewed(folder: Path) -> None:
    (folder / "log").rename(folder / "first.log")


#: A release, a layout, and whether TERM reaches each process, as from `scancel`, or the script alone.
TOLD: dict[str, tuple[Version, Layout, bool]] = {
    "0.2.0": ("0.2.0", ALONE, False),
    "0.2.2": ("0.2.2", ALONE, False),
    "0.2.2 each": ("0.2.2", ALONE, True),
    "0.2.2 pipeline": ("0.2.2", PIPELINE, True),
    "0.3": ("0.3", ALONE, True),
}


@pytest.mark.parametrize("name", TOLD)
def test_told_to_end_it_saves_and_goes_on_at_the_next_step(name: str, tmp_path: Path) -> None:
    version, layout, each = TOLD[name]
    plan, folder = plan_of(version, FAMILY, layout), tmp_path / "run"
    unbroken = trained(plan, version, tmp_path / "unbroken")
    with training(plan, version, folder) as process:
        logged(folder, ENDED)
        for number in [process.pid, *(started_by(process.pid) if each else ())]:
            os.kill(number, signal.SIGTERM)
        assert process.wait(LIMIT_SECONDS) == 0, log_of(folder).log[-4000:]
    first = log_of(folder)
    last = len(first.steps)
    assert ENDED <= last < STEPS and saved(folder) == [last], first.log[-4000:]
    assert f"told to end: saving after step {last} and leaving" in first.log
    renewed(folder)
    same(trained(plan, version, folder), unbroken, last + 1)


@pytest.mark.parametrize("version", ["0.2.2", "0.3"])
def test_killed_it_goes_on_from_its_last_interval(version: Version, tmp_path: Path) -> None:
    plan, folder = plan_of(version, FAMILY, ALONE, interval=INTERVAL), tmp_path / "run"
    unbroken = trained(plan, version, tmp_path / "unbroken")
    with training(plan, version, folder) as process:
        logged(folder, INTERVAL + 1)
        for number in [process.pid, *started_by(process.pid)]:
            os.kill(number, signal.SIGKILL)
    last = max(whole(folder))
    assert last >= INTERVAL and last % INTERVAL == 0
    renewed(folder)
    same(trained(plan, version, folder), unbroken, last + 1)
