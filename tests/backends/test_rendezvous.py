"""The head of each entry script, run by bash with the environment that each operator and launcher gives."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.compiler.plan import Layout
from tests.support.sample_plans import sample_plan

TARGETS = ("megatron", "deepspeed", "torchtitan")
#: Two nodes of eight GPUs.
TWO_NODES = Layout(dp_shard=16, zero=3, microbatches=1)
ONE_NODE = Layout(dp_shard=8, zero=3, microbatches=1)
#: torchrun says what it was told, and which of its own variables reach it.
TORCHRUN = """#!/bin/bash
for word; do case "$word" in --n*=*|--master*=*) echo "$word" ;; esac; done
env | grep -E '^PET_(STANDALONE|RDZV)' || true
"""
SCONTROL = "#!/bin/bash\n[[ $3 == 'node[3-4]' ]] && printf 'node3\\nnode4\\n'\n"

#: For each launcher what the second of two nodes gets, and where it then looks for the first.
#: training-operator 1.9 pkg/controller.v1/pytorch/envvar.go and elastic.go; trainer 2.3
#: pkg/runtime/framework/plugins/torch/torch.go; Kubernetes' indexed Jobs; SkyPilot's reference of variables;
#: Open MPI's; srun's.
SECOND = {
    "by hand": (
        {"NNODES": "2", "NODE_RANK": "1", "MASTER_ADDR": "one", "MASTER_PORT": "1234"},
        "one:1234",
    ),
    "PyTorchJob": (
        {
            "PET_NNODES": "2",
            "PET_NODE_RANK": "1",
            "PET_NPROC_PER_NODE": "auto",
            "MASTER_ADDR": "job-master-0",
            "MASTER_PORT": "23456",
            "WORLD_SIZE": "2",
            "RANK": "1",
        },
        "job-master-0:23456",
    ),
    "elastic PyTorchJob": (
        {
            "PET_NNODES": "2:2",
            "PET_NODE_RANK": "1",
            "PET_RDZV_BACKEND": "c10d",
            "PET_RDZV_ENDPOINT": "elsewhere:1",
            "PET_STANDALONE": "",
            "MASTER_ADDR": "job-master-0",
            "MASTER_PORT": "23456",
        },
        "job-master-0:23456",
    ),
    "TrainJob": (
        {
            "PET_NNODES": "2",
            "PET_NODE_RANK": "1",
            "PET_NPROC_PER_NODE": "8",
            "PET_MASTER_ADDR": "job-node-0-0.job",
            "PET_MASTER_PORT": "29400",
            "JOB_COMPLETION_INDEX": "1",
        },
        "job-node-0-0.job:29400",
    ),
    "JobSet": (
        {"NNODES": "2", "JOB_COMPLETION_INDEX": "1", "MASTER_ADDR": "job-nodes-0-0.job"},
        "job-nodes-0-0.job:29500",
    ),
    "SkyPilot": (
        {
            "SKYPILOT_NUM_NODES": "2",
            "SKYPILOT_NODE_RANK": "1",
            "SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2",
        },
        "10.0.0.1:29500",
    ),
    "mpirun": (
        {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "MASTER_ADDR": "one"},
        "one:29500",
    ),
    "mpirun in a step of SLURM": (
        {
            "OMPI_COMM_WORLD_SIZE": "2",
            "OMPI_COMM_WORLD_RANK": "1",
            "SLURM_STEP_NUM_NODES": "1",
            "SLURM_NODEID": "0",
            "MASTER_ADDR": "one",
        },
        "one:29500",
    ),
    "srun": (
        {
            "SLURM_STEP_NUM_NODES": "2",
            "SLURM_NODEID": "1",
            "SLURM_STEP_NODELIST": "node[3-4]",
        },
        "node3:29500",
    ),
}
#: Environments that leave the rank or node 0's address open.
OPEN = {
    "pods that know no rank": {"NNODES": "2", "MASTER_ADDR": "one"},
    "an elastic job without a master": {"PET_NNODES": "1:2", "PET_RDZV_BACKEND": "c10d"},
    "mpirun without an address": {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"},
    "a rank alone": {"NNODES": "2", "NODE_RANK": "0"},
}
targets = pytest.mark.parametrize("target", TARGETS)


def started(
    target: str, layout: Layout, folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """The entry script with stand-ins for torchrun and scontrol."""
    tools = folder / "tools"
    tools.mkdir()
    for name, text in (("torchrun", TORCHRUN), ("scontrol", SCONTROL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    plan = sample_plan(target, BACKENDS[target].target.options(), layout=layout)
    for path, text in BACKENDS[target].emit(plan).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return subprocess.run(
        ["bash", str(folder / BACKENDS[target].entry)],
        cwd=folder,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@targets
@pytest.mark.parametrize("name", SECOND)
def test_the_second_node_knows_itself_and_the_first(target: str, name: str, tmp_path: Path) -> None:
    environment, endpoint = SECOND[name]
    done = started(target, TWO_NODES, tmp_path, environment)
    host, _, port = endpoint.partition(":")
    announced, *words = done.stdout.splitlines()
    assert announced.startswith("parc run ")
    assert (done.returncode, words) == (
        0,
        [
            "--nnodes=2",
            "--nproc-per-node=8",
            "--node-rank=1",
            f"--master-addr={host}",
            f"--master-port={port}",
        ],
    ), done.stderr


@targets
@pytest.mark.parametrize("name", OPEN)
def test_nobody_guesses_that_it_is_the_first(target: str, name: str, tmp_path: Path) -> None:
    done = started(target, TWO_NODES, tmp_path, OPEN[name])
    assert (done.returncode, done.stdout) == (2, "")
    assert "set NODE_RANK (0 to 1, on each node its own) and MASTER_ADDR" in done.stderr


@targets
@pytest.mark.parametrize("environment", [{}, {"SLURM_NNODES": "2", "SLURM_NODEID": "0"}])
def test_one_machine_is_not_two_nodes(
    target: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """Bare pods, and a batch script that starts the entry without srun."""
    done = started(target, TWO_NODES, tmp_path, environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the layout needs 2 nodes of 8 GPUs, not NNODES=1" in done.stderr


@targets
@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"JOB_COMPLETION_INDEX": "5"},
        {"PET_NNODES": "1:1", "PET_RDZV_BACKEND": "c10d", "PET_STANDALONE": ""},
        {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"},
    ],
)
def test_one_node_needs_nothing_said(
    target: str, environment: dict[str, str], tmp_path: Path
) -> None:
    done = started(target, ONE_NODE, tmp_path, environment)
    assert done.returncode == 0, done.stderr
    _, *told = done.stdout.splitlines()
    assert told[2:] == ["--node-rank=0", "--master-addr=127.0.0.1", "--master-port=29500"]
