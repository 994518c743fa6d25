"""Emitted Megatron-LM jobs, started on this host as a user would: their logs, losses and checkpoints.

The package of the release trains, saves and loads. The program that no package has, `pretrain_gpt.py`, is
probes/megatron_lm's; what stands in for GPUs, Transformer Engine and apex is that of `parc smoke`.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from parc.backends.megatron.on_cpu import CAPABILITY
from parc.backends.megatron.smoke import SMOKE, write_documents
from parc.smoke.smoke_run import on_cpu
from tests.acceptance.support.environments import RELEASED, environment
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS

PROGRAM = Path(__file__).parents[1] / "probes" / "megatron_lm" / "pretrain_gpt.py"
#: A target whose kernels CPUs have, with the text that `parc smoke` writes.
TARGET = """
target megatron {
  log_interval = 1; data = "documents"; attention_kernel = "cudnn"; loss_kernel = "eager"
}
"""
#: Losses of the same layout differ by the digits of a log, those of another by sums of bf16 in another order.
SAME, CLOSE = 1e-5, 1e-4


@dataclass(frozen=True)
class Run:
    """One start of an entry script: what it printed."""

    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    @property
    def losses(self) -> dict[int, float]:
        """By step. The second line of a start tells the mean of two steps: training.py's training_log writes
        one after the first step whatever --log-interval is, and does not begin its sum anew there.
        """
        found = {int(step): float(loss) for step, loss in SMOKE.step.findall(self.text)}
        first, *later = found or [0]
        if later:
            found[later[0]] = 2 * found[later[0]] - found[first]
        return found

    def reached(self, step: int) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while step not in self.losses:
            assert time.monotonic() < until, self.text[-4000:]
            time.sleep(0.02)


def checkout(folder: Path) -> Path:
    """What stands for a checkout of the release."""
    root = folder / "megatron-lm"
    root.mkdir()
    (root / "megatron").symlink_to(environment(RELEASED).packages / "megatron")
    (root / PROGRAM.name).symlink_to(PROGRAM)
    write_documents(root / "data" / "documents")
    return root


@contextmanager
def started(
    script: Path, root: Path, log: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], Run]]:
    """A start in the checkout's parent folder, below which runs are kept, ended with the block."""
    (port,) = free_ports(1)
    variables = environment(RELEASED).variables(
        MASTER_PORT=str(port),
        MEGATRON_PATH=str(root),
        DATA_PATH=str(root / "data" / "documents"),
        CUDA_VISIBLE_DEVICES="",
        PYTHONDONTWRITEBYTECODE="1",
        **{CAPABILITY: "90"},
        **on_cpu(SMOKE),
    )
    command = ["bash", "-c", 'cd -- "$0" && exec bash "$@"', str(root.parent), str(script)]
    process = start([*command, *options], log, variables)
    try:
        yield process, Run(log)
    finally:
        stop(process)


def trained(script: Path, root: Path, log: Path, *options: str) -> Run:
    """A start that ends by itself, well."""
    with started(script, root, log, *options) as (process, run):
        assert process.wait(LIMIT_SECONDS) == 0, run.text[-6000:]
    return run


def last_saved(root: Path) -> int:
    """The step of the newest checkpoint of the one run there is."""
    (newest,) = root.parent.glob("runs/*/checkpoints/latest_checkpointed_iteration.txt")
    return int(newest.read_text())
