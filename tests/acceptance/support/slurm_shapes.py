"""A kind of node -> a SLURM controller that has as many of them as one asks for, and no node daemon.

The nodes are declared as a cloud's, which exist once a job is given to them: so the controller answers for
thousands, and `sbatch --test-only` meets a cluster of exactly one shape.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from parc.compiler.plan import Plan
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.slurm_tools import Slurm, free_ports
from tests.support.waiting import wait_until

#: Nodes with a GPU fewer, for a shape of one node.
FEWER = "fewer1"
_MIB = 2**20


@dataclass(frozen=True)
class Kind:
    """A node: GPUs, the name of their type, cores and memory."""

    gpus: int
    gpu_type: str | None
    cores: int
    memory_bytes: int

    @property
    def line(self) -> str:
        return f"{self._body} {self._gpus(self.gpus)}"

    @property
    def line_with_fewer(self) -> str:
        return f"{self._body} {self._gpus(self.gpus - 1)}"

    @property
    def _body(self) -> str:
        return f"Sockets=1 CoresPerSocket={self.cores} RealMemory={self.memory_bytes // _MIB}"

    def _gpus(self, count: int) -> str:
        kind = f"{self.gpu_type}:" if self.gpu_type else ""
        return f"Gres=gpu:{kind}{count}" if count else ""


def kind_of(plan: Plan) -> Kind:
    cluster, launch = plan.job.cluster, plan.job.slurm
    return Kind(cluster.gpus_per_node, launch.gpu_type, cluster.cpu_cores, cluster.node_memory)


@dataclass(frozen=True)
class Controller:
    slurm: Slurm

    def accepts(self, script: Path, nodes: str) -> tuple[bool, str]:
        """Whether a cluster of these nodes alone would take the job, and what sbatch says."""
        update = self.slurm.run("scontrol", "update", "PartitionName=train", f"Nodes={nodes}")
        assert update.returncode == 0, update.stderr
        said = self.slurm.run("sbatch", "--test-only", str(script))
        return said.returncode == 0, said.stderr.strip()


@contextmanager
def controller(kind: Kind, nodes: int, folder: Path) -> Iterator[Controller]:
    """A controller of `nodes` nodes of a kind; ended with the block."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    configuration = folder / "slurm.conf"
    configuration.write_text(_configuration(kind, nodes, folder))
    slurm = Slurm(configuration)
    command = ["slurmctld", "-D", "-f", str(configuration)]
    daemon = start(command, folder / "slurmctld.out", slurm.environment)
    try:
        wait_until(slurm.up, 600, "slurmctld")
        yield Controller(slurm)
    finally:
        stop(daemon)


def _configuration(kind: Kind, nodes: int, folder: Path) -> str:
    control, daemon = free_ports(2)
    settings = {
        "ClusterName": "shapes",
        "SlurmctldHost": f"{socket.gethostname().partition('.')[0]}(127.0.0.1)",
        "SlurmctldPort": control,
        "SlurmdPort": daemon,
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MailProg": "/bin/true",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "SuspendProgram": "/bin/true",
        "ResumeProgram": "/bin/true",
        "SuspendTime": 600,
        "GresTypes": "gpu",
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    lines += [
        f"NodeName=n[1-{nodes}] State=CLOUD Feature=ib,big {kind.line}",
        f"NodeName={FEWER} State=CLOUD Feature=ib,big {kind.line_with_fewer}",
        f"PartitionName=train Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP",
    ]
    return "\n".join(lines) + "\n"
