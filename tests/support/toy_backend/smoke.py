"""How `parc smoke` trains the toy: any Python will do."""

from __future__ import annotations

from pathlib import Path

from parc.backends.smoke_run import SmokeRun
from parc.dsl.job import Job
from tests.support.toy_backend.read import STEP
from tests.support.toy_backend.target import Options


def settings(job: Job, folder: Path, gpus: bool) -> Options:
    options = job.options("toy")
    return options if isinstance(options, Options) else Options()


SMOKE = SmokeRun(
    packages=(),
    needs=lambda job: (),
    install=lambda job: "nothing",
    settings=settings,
    step=STEP,
)
