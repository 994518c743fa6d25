"""The script that starts hosts with mpirun, on a real Open MPI whose ssh stays on this host."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.acceptance.support.deepspeed_runs import losses
from tests.acceptance.support.environments import environment
from tests.acceptance.support.generated_jobs import compile_text
from tests.acceptance.support.processes import start as begin
from tests.acceptance.support.processes import stop
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_tools import free_ports
from tests.acceptance.support.smoke_runs import extensions
from tests.backends.hosts.test_mpirun import plan_of, start
from tests.backends.hosts.test_start import wait_for
from tests.support.waiting import wait_until

#: Leaves out options and the host, and runs what the host would run.
SSH = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
shift
exec bash -c "$*"
"""
JOB = """
model tiny { layers = 2; hidden = 64; heads = 4; ffn = 128; vocab = 256 }
cluster pair from std.dgx_h100 { nodes = 2; gpus_per_node = 1 }
train { seq_len = 256; global_batch = 4; steps = 100000; warmup = 0; checkpoint_interval = 100000 }
goal { require zero == 1 }
target deepspeed { adam = "torch"; log_interval = 1 }
launch hosts { starter = mpirun }
"""
LIMIT_SECONDS = 900


def wrapped() -> str:
    return f'#!/bin/bash\nexec {environment("openmpi").folder}/bin/mpirun "$@"\n'


def allowed(folder: Path) -> dict[str, str]:
    """Variables with which Open MPI runs as root and takes the stand-in for ssh."""
    agent = folder / "agent.sh"
    agent.write_text(SSH)
    agent.chmod(0o755)
    root = {
        f"{name}_ALLOW_RUN_AS_ROOT{end}": "1"
        for name in ("OMPI", "PRTE")
        for end in ("", "_CONFIRM")
    }
    handed = "-x OUT -x ENDS"
    return {
        **root,
        "PRTE_MCA_plm_ssh_agent": str(agent),
        "HOME": str(folder),
        "MPIRUN_OPTIONS": handed,
    }


def test_each_host_is_told_its_place_and_a_failure_starts_all_again(tmp_path: Path) -> None:
    variables = {**allowed(tmp_path), "ENDS": "1:1:7 0:2:0 1:2:0", "MASTER_PORT": "1234"}
    done = start(plan_of(restarts=2), tmp_path, "--a=b c", mpirun=wrapped(), **variables)
    _, said = done.communicate(timeout=LIMIT_SECONDS)
    assert done.returncode == 0, said
    assert "start 1 of at most 3 ended with status 7" in said
    for rank in (0, 1):
        lines = (tmp_path / f"starts-{rank}").read_text().splitlines()
        assert len(lines) == 2
        size, master, port, *_, folder, option = lines[0].split("|")
        assert (size, master, port, folder) == ("2", "one", "1234", str(tmp_path))
        assert option == "--a=b c"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_all_save_when_it_is_stopped(sent: signal.Signals, tmp_path: Path) -> None:
    running = start(plan_of(), tmp_path, mpirun=wrapped(), **{**allowed(tmp_path), "ENDS": ""})
    wait_for(tmp_path / "ready-0", tmp_path / "ready-1")
    running.send_signal(sent)
    assert running.wait(LIMIT_SECONDS) == 143, running.communicate()[1]
    assert (tmp_path / "saved-0").exists() and (tmp_path / "saved-1").exists()


def test_deepspeed_trains_on_two_hosts_and_saves_when_it_is_stopped(tmp_path: Path) -> None:
    made = compile_text(JOB, "tiny")
    assert made.plan is not None, made.complaints
    folder, log = write(made.files, tmp_path), tmp_path / "run" / "logs" / "node-0.log"
    (port,) = free_ports(1)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "mpirun").write_text(wrapped())
    (tools / "mpirun").chmod(0o755)
    (tmp_path / "hostfile").write_text("localhost\ntwo\n")
    own = {**environment("deepspeed").variables(**extensions()), **allowed(tmp_path)}
    handed = ("TORCH_EXTENSIONS_DIR", "OMP_NUM_THREADS", *extensions())
    own |= {
        "PATH": f"{tools}:{own['PATH']}",
        "HOSTFILE": str(tmp_path / "hostfile"),
        "MASTER_PORT": str(port),
        "RUN_DIR": str(tmp_path / "run"),
        "MPIRUN_OPTIONS": " ".join(f"-x {name}" for name in handed),
    }
    run = begin(["bash", str(folder / "hosts" / "deepspeed.sh")], tmp_path / "said", own)
    try:
        wait_until(
            lambda: log.exists() and len(losses(log.read_text())) > 1, LIMIT_SECONDS, "steps"
        )
        run.send_signal(signal.SIGTERM)
        status = run.wait(LIMIT_SECONDS)
    finally:
        stop(run)
    assert status == 143, (tmp_path / "said").read_text()[-2000:]
    steps = len(losses(log.read_text()))
    latest = (tmp_path / "run" / "checkpoints" / "latest").read_text()
    assert latest.endswith(str(steps)), (latest, steps)
