"""A SLURM cluster on this host: munged, slurmctld and a slurmd per emulated node, all ended with the block.

The nodes share the host's cores and loopback; their GPUs are character devices that nothing opens.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.support.host_names import named
from tests.acceptance.support.processes import start, stop
from tests.acceptance.support.session_guard import session_mark
from tests.acceptance.support.slurm_tools import Slurm, free_ports
from tests.support.waiting import wait_until

#: What `scontrol show job` says of a job that has ended.
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"}
#: How often daemons are started before a cluster that does not come up fails its test.
ATTEMPTS = 3


@dataclass(frozen=True)
class Run:
    """One submitted job."""

    slurm: Slurm
    number: int
    folder: Path

    def fields(self) -> dict[str, str]:
        said = self.slurm.text("scontrol", "show", "job", str(self.number))
        return dict(re.findall(r"(\w+)=(\S*)", said))

    @property
    def state(self) -> str:
        return self.fields().get("JobState", "")

    @property
    def log(self) -> str:
        """All that the job has written: one file, however often it was started."""
        return "".join(path.read_text() for path in self.folder.glob(f"*-{self.number}.out"))

    def wait_for(self, states: set[str], seconds: float) -> str:
        try:
            wait_until(lambda: self.state in states, seconds, f"job {self.number} in {states}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it is {self.state}\n{self.log[-3000:]}") from None
        return self.state

    def wait_for_line(self, text: str, seconds: float) -> None:
        try:
            wait_until(
                lambda: text in self.log, seconds, f"`{text}` in the log of job {self.number}"
            )
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it is {self.state}\n{self.log[-3000:]}") from None


@dataclass(frozen=True)
class Cluster:
    slurm: Slurm

    def submit(self, script: Path, folder: Path, *options: str, **variables: str) -> Run:
        words = ("sbatch", "--parsable", *options, str(script))
        said = self.slurm.run(*words, folder=folder, more=variables)
        assert said.returncode == 0, said.stderr
        return Run(self.slurm, int(said.stdout), folder)

    def empty(self) -> bool:
        return not self.slurm.text("squeue", "--noheader").strip()


@contextmanager
def cluster(folder: Path, nodes: int, gpus: int, cores: int) -> Iterator[Cluster]:
    """Daemons that do not come up, such as when another process has taken a port since, are started anew."""
    for attempt in range(1, ATTEMPTS + 1):
        home = folder if attempt == 1 else folder.with_name(f"{folder.name}{attempt}")
        with ExitStack() as stack:
            try:
                made = stack.enter_context(_started(home, nodes, gpus, cores))
            except TimeoutError as error:
                said = f"{error}\n{_last_lines(home)}"
                if attempt == ATTEMPTS:
                    raise TimeoutError(said) from None
                print(f"the emulated cluster is started anew: {said}", file=sys.stderr)
                continue
            yield made
            return


@contextmanager
def _started(folder: Path, nodes: int, gpus: int, cores: int) -> Iterator[Cluster]:
    for name in ("state", "spool", "devices"):
        (folder / name).mkdir(parents=True)
    slurm = _configure(folder, nodes, gpus, cores)
    socket_path = folder / "munge.socket"
    daemons: list[subprocess.Popen[bytes]] = []
    with named(nodes, folder):
        try:
            daemons.append(_munged(folder, socket_path))
            answer = ("munge", "--socket", str(socket_path), "--no-input")
            wait_until(lambda: slurm.run(*answer).returncode == 0, 120, "munged")
            environment = slurm.environment
            control = ["slurmctld", "-D", "-f", str(slurm.configuration)]
            daemons.append(start(control, folder / "slurmctld.out", environment))
            # A node that registers before its controller listens is asked again minutes later.
            wait_until(slurm.up, 120, "slurmctld")
            for number in range(1, nodes + 1):
                daemon = ["slurmd", "-D", "-N", f"n{number}", "-f", str(slurm.configuration)]
                daemons.append(start(daemon, folder / f"n{number}.out", environment))
            idle = ("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N")
            wait_until(lambda: len(slurm.text(*idle).split()) == nodes, 120, f"{nodes} idle nodes")
            yield Cluster(slurm)
        finally:
            _end_jobs(slurm)
            for daemon_process in reversed(daemons):
                stop(daemon_process)


def _last_lines(folder: Path) -> str:
    """What the daemons said last, with the name of each one's log."""
    logs = sorted([*folder.glob("*.log"), *folder.glob("*.out")])
    return "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in logs)


def _end_jobs(slurm: Slurm) -> None:
    """Jobs end while their nodes are there to end them."""
    made = Cluster(slurm)
    for _ in range(100):
        if made.empty():
            return
        slurm.run("scancel", "--partition=train")
        slurm.run("scancel", "--partition=train", "--signal=KILL", "--full")
        time.sleep(0.3)


def _munged(folder: Path, socket_path: Path) -> subprocess.Popen[bytes]:
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    folder.chmod(0o755)
    command = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_path}"]
    command += [f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log"]
    return start([*command, f"--seed-file={folder}/munge.seed"], folder / "munged.out")


def _configure(folder: Path, nodes: int, gpus: int, cores: int) -> Slurm:
    for number in range(gpus):
        (folder / "devices" / f"gpu{number}").symlink_to("/dev/null")
    devices = f"{folder}/devices/gpu" + ("0" if gpus == 1 else f"[0-{gpus - 1}]")
    (folder / "gres.conf").write_text(f"NodeName=n[1-{nodes}] Name=gpu File={devices}\n")
    control, *ports = free_ports(nodes + 1)
    settings = {
        "ClusterName": "emulated",
        "SlurmctldHost": f"{socket.gethostname().partition('.')[0]}(127.0.0.1)",
        "SlurmctldPort": control,
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.socket",
        "CredType": "cred/munge",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": f"{folder}/spool/%n",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": f"{folder}/%n.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "SlurmdLogFile": f"{folder}/%n.{session_mark()}.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "MpiDefault": "none",
        "MailProg": "/bin/true",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "SlurmdParameters": "config_overrides",
        "SchedulerParameters": "sched_interval=2,bf_interval=2,sched_min_interval=0",
        "ReturnToService": 2,
        "KillWait": 5,
        "MinJobAge": 3600,
        "GresTypes": "gpu",
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    shape = f"CoresPerSocket={cores} RealMemory=100000 Gres=gpu:{gpus}"
    for number, port in enumerate(ports, 1):
        lines.append(
            f"NodeName=n{number} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} {shape}"
        )
    lines.append("PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    configuration = folder / "slurm.conf"
    configuration.write_text("\n".join(lines) + "\n")
    return Slurm(configuration)
