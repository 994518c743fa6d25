"""Megatron-LM told to end saves and goes on as if it had not ended; killed, it goes on from its interval.

pretrain_gpt.py is in no package: MEGATRON_ROOT names a checkout. What stands in for GPUs and Transformer Engine
is that of `parc smoke`, its Adam's count of steps too.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.backends.megatron import BACKEND
from parc.smoke import Prepared
from tests.acceptance.support.environments import TRAINING
from tests.acceptance.support.processes import started_by
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS, Wanted, prepared

pytestmark = pytest.mark.skipif(
    "MEGATRON_ROOT" not in os.environ,
    reason="MEGATRON_ROOT is not set: pretrain_gpt.py is in no package",
)
MODEL = "model decoder from std.llama3_8b { layers = 2 }"
LAYOUTS = {
    "replicas": "zero == 1, tp == 1, pp == 1, cp == 1",
    "pipeline": "zero == 1, tp == 1, pp == 2, vpp == 1, cp == 1",
}
STEPS, INTERVAL, ENDED = 14, 4, 5
STEP = re.compile(r"iteration +(\d+)/.*?lm loss: ([\d.E+-]+)")
#: Losses of bf16 products that are added up in another order.
LOSS = 2e-3


@dataclass(frozen=True)
class Job:
    """A shrunken job in its own folder, started as often as one likes."""

    folder: Path
    ready: Prepared

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    @property
    def losses(self) -> dict[int, float]:
        return {int(step): float(loss) for step, loss in STEP.findall(self.log)}

    @property
    def checkpoints(self) -> Path:
        return self.folder / "work" / "checkpoints"

    @property
    def last(self) -> int:
        return int((self.checkpoints / "latest_checkpointed_iteration.txt").read_text())

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """The emitted script, whose processes are killed with the block."""
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                self.ready.command,
                env=dict(self.ready.environment),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            kill(process)

    def reached(self, step: int) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while step not in self.losses:
            assert time.monotonic() < until, self.log[-4000:]
            time.sleep(0.05)

    def to_its_end(self) -> dict[int, float]:
        with self.started() as process:
            assert process.wait(LIMIT_SECONDS) == 0, self.log[-6000:]
        return self.losses


def kill(process: subprocess.Popen[bytes]) -> None:
    for number in [*started_by(process.pid), process.pid]:
        if process.poll() is None or number != process.pid:
            os.kill(number, signal.SIGKILL)
    process.wait()


def job(layout: str, folder: Path) -> Job:
    wanted = Wanted(LAYOUTS[layout], 2, {}, MODEL)
    ready = prepared("megatron", wanted, TRAINING, folder, STEPS)
    train = ready.plan.job.train.model_copy(update={"checkpoint_interval": INTERVAL})
    changed = ready.plan.job.model_copy(update={"train": train})
    for path, text in BACKEND.emit(ready.plan.model_copy(update={"job": changed})).items():
        (folder / path).write_text(text)
    return Job(folder, ready)


def goes_on(found: Job, unbroken: dict[int, float], last: int) -> None:
    """From the step after `last`, with the losses of a run that nothing ended."""
    losses = found.to_its_end()
    assert min(losses) == last + 1 and max(losses) == STEPS, found.log[-4000:]
    assert losses == pytest.approx({step: unbroken[step] for step in losses}, rel=LOSS), found.log[
        -4000:
    ]


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a short name: the sockets of what writes a checkpoint lie below it."""
    return tmp_path_factory.mktemp("m")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_told_to_end_or_killed_it_goes_on(layout: str, folder: Path) -> None:
    unbroken = job(layout, folder / "unbroken").to_its_end()
    assert sorted(unbroken) == list(range(1, STEPS + 1))
    run = job(layout, folder / "run")
    with run.started() as process:
        run.reached(ENDED)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_SECONDS) == 0, run.log[-4000:]
    last = run.last
    assert ENDED <= last < STEPS and max(run.losses) == last
    assert "exiting program after receiving SIGTERM" in run.log
    goes_on(run, unbroken, last)

    killed = job(layout, folder / "killed")
    with killed.started() as process:
        killed.reached(INTERVAL + 1)
        kill(process)
    assert killed.last == INTERVAL or killed.last % INTERVAL == 0
    goes_on(killed, unbroken, killed.last)
