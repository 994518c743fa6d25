"""An emitted DeepSpeed job run with its own launcher on this host: its log, and its losses."""

from __future__ import annotations

from pathlib import Path

from parc.backends.deepspeed.smoke import SMOKE
from parc.smoke.processes import Line
from parc.smoke.smoke_run import steps_of
from tests.acceptance.support.environments import environment
from tests.acceptance.support.generated_jobs import compile_text
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS, extensions


def trained(
    text: str, folder: Path, packages: str = "deepspeed", **variables: str
) -> tuple[str, list[float]]:
    """The log of a job's one node, and the loss of each step; `variables` are of its environment, which has
    the `packages` of `environments.py`."""
    made = compile_text(text, "tiny")
    assert made.plan is not None, made.complaints
    script = write(made.files, folder) / "deepspeed" / "launch.sh"
    (port,) = free_ports(1)
    own = {"MASTER_PORT": str(port), "RUN_DIR": str(folder / "run")}
    place = {**own, **extensions(), **variables}
    run = start(["bash", str(script)], folder / "log", environment(packages).variables(**place))
    try:
        status = run.wait(LIMIT_SECONDS)
    finally:
        stop(run)
    log = (folder / "log").read_text()
    assert status == 0, log[-4000:]
    return log, losses(log)


def losses(log: str) -> list[float]:
    """By step, as the emitted train.py reports them."""
    lines = (Line(0.0, line) for line in log.splitlines())
    return [step.loss for step in steps_of(lines, SMOKE.step)]
