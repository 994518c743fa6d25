"""Tasks of SkyPilot: what they say, what is refused, how lint reads them, and nodes in a local emulation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.backends.log import announcement
from parc.backends.skypilot import LAUNCHER
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.launchers import SkyPilot
from tests.support.drawn_tasks import DRAWN, drawn_task
from tests.support.sample_plans import sample_plan

TARGETS = ("megatron", "deepspeed", "torchtitan")
NODES = {1: Layout(dp_shard=8, zero=3), 2: Layout(dp_shard=16, zero=3)}
VOLUMES = ("runs:/runs", "s3://corpus/c4:/data")
every_target = pytest.mark.parametrize("target", TARGETS)


def plan_of(target: str = "megatron", nodes: int = 2, gpu: Any = None, **settings: Any) -> Plan:
    options = BACKENDS[target].target.options()
    more = {} if gpu is None else {"gpu": gpu}
    launch = SkyPilot(**settings)
    return sample_plan(target, options, layout=NODES[nodes], launch=launch, **more)


def written(plan: Plan) -> dict[str, str]:
    files = BACKENDS[plan.target].emit(plan)
    return {**files, **LAUNCHER.emit(plan, BACKENDS[plan.target].entry, files)}


def task(plan: Plan) -> dict[str, Any]:
    text = written(plan)[f"skypilot/{plan.target}.yaml"]
    found: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return found


def test_a_task_says_machines_files_and_restarts() -> None:
    plan = plan_of(
        volumes=VOLUMES,
        spot=True,
        image="nvcr.io/nvidia/pytorch:25.06-py3",
        infra="aws/us-east-1",
        restarts=7,
        setup=("pip install megatron-core", "echo $HOME"),
    )
    folder = f"/runs/{plan.run.folder}"
    assert task(plan) == {
        "name": "llama3-8b-megatron",
        "num_nodes": 2,
        "resources": {
            "infra": "aws/us-east-1",
            "accelerators": "H100:8",
            "use_spot": True,
            "network_tier": "best",
            "image_id": "docker:nvcr.io/nvidia/pytorch:25.06-py3",
            "job_recovery": {"max_restarts_on_errors": 7},
        },
        "file_mounts": {
            "~/parc/megatron": "megatron",
            "/data": {"source": "s3://corpus/c4", "mode": "MOUNT"},
        },
        "volumes": {"/runs": "runs"},
        "envs": {"RUN_DIR": folder},
        "setup": "pip install megatron-core\necho $HOME\n",
        "run": "cd /runs # what a path of the job is relative to\nexec bash ~/parc/megatron/pretrain.sh\n",
    }


def test_a_single_node_asks_for_no_network() -> None:
    found = task(plan_of(nodes=1, restarts=0))
    assert found["resources"] == {
        "accelerators": "H100:8",
        "job_recovery": {"max_restarts_on_errors": 0},
    }
    assert found["run"] == "exec bash ~/parc/megatron/pretrain.sh\n"


def test_a_bucket_that_is_written_has_a_cache() -> None:
    volumes = ("gs://ours:/ckpt", "gs://corpus:/data")
    mounts = task(plan_of(volumes=volumes))["file_mounts"]
    assert [mounts[path]["mode"] for path in ("/ckpt", "/data")] == ["MOUNT_CACHED", "MOUNT"]
    mounts = task(plan_of(volumes=volumes, runs="/data/runs"))["file_mounts"]
    assert [mounts[path]["mode"] for path in ("/ckpt", "/data")] == ["MOUNT", "MOUNT_CACHED"]


def test_gpus_have_the_names_of_skypilot() -> None:
    h100 = plan_of().job.cluster.gpu
    a100 = h100.model_copy(update={"name": "a100_80"})
    assert task(plan_of(gpu=a100))["resources"]["accelerators"] == "A100-80GB:8"
    own = h100.model_copy(update={"name": "ours"})
    assert (
        task(plan_of(gpu=own, accelerators="H100-SXM"))["resources"]["accelerators"] == "H100-SXM:8"
    )
    with pytest.raises(JobError) as caught:
        written(plan_of(gpu=own))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("PAR679", "parc does not know SkyPilot's name of `ours`")


REFUSED = [
    ({"job_name": "a b"}, "PAR680", "`job_name` is not a name that SkyPilot accepts: `a b`"),
    ({"infra": ""}, "PAR680", "`infra` is empty"),
    (
        {"image": "a b"},
        "PAR680",
        "`image` is empty, or has characters that a name cannot have: `a b`",
    ),
    ({"accelerators": "H100:8"}, "PAR680", "`accelerators` states a count of GPUs"),
    ({"volumes": ("runs",)}, "PAR681", "`runs` is not a volume and its path"),
    ({"volumes": ("runs:data",)}, "PAR681", "`runs:data` is not a volume and its path"),
    ({"volumes": ("s3://corpus",)}, "PAR681", "`s3://corpus` is not a volume and its path"),
    ({"volumes": ("a:/x", "b:/x/")}, "PAR681", "two volumes at `/x/`"),
    ({"volumes": ("a:/x/../y",)}, "PAR681", "`a:/x/../y` is not a volume and its path"),
    ({"runs": "here"}, "PAR681", "`runs` is not a plain absolute path: `here`"),
]


@pytest.mark.parametrize(("settings", "code", "message"), REFUSED)
def test_what_skypilot_refuses_is_told(settings: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(JobError) as caught:
        written(plan_of(**settings))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message[: len(message)]) == (code, message)


def test_checkpoints_without_a_volume_are_told() -> None:
    def told(**settings: Any) -> list[str]:
        return [found.code for found in LAUNCHER.warnings(plan_of(**settings))]

    assert told() == ["PAR682"]
    assert told(volumes=("runs:/runs",)) == told(runs="/mnt/shared/runs") == []


@pytest.mark.parametrize("seed", range(DRAWN))
def test_reading_gives_the_facts_back(seed: int) -> None:
    plan = drawn_task(seed)
    path = f"skypilot/{plan.target}.yaml"
    assert LAUNCHER.read({path: written(plan)[path]}).values() == LAUNCHER.facts(plan)


@every_target
def test_lint_reads_the_job_that_the_nodes_run(target: str) -> None:
    """The task gives the facts of its entry script, and the number of its machines."""
    plan = plan_of(target, volumes=VOLUMES)
    files = {f"out/{path}": text for path, text in written(plan).items()}
    task_path = f"out/skypilot/{target}.yaml"
    (nodes,) = read_jobs(files)
    (alone,) = read_jobs({path: text for path, text in files.items() if path != task_path})
    assert str(nodes.kind).startswith(f"skypilot+{target}")
    shape = {"nodes": 2, "gpus_per_node": 8, "gpus": 16}
    assert nodes.values() == {**alone.values(), **shape, "pods": 2, "gpus_per_pod": 8}
    assert not nodes.unread
    assert {task_path, *alone.texts} == set(nodes.texts)


#: torchrun's stand-in.
TORCHRUN = """#!/bin/bash
for word; do case "$word" in --n*=*|--master*=*) echo "$word" ;; esac; done
pwd
"""


@every_target
def test_nodes_know_their_place(target: str, tmp_path: Path) -> None:
    """The `run` lines as SkyPilot starts them, with its variables, on the second of two nodes."""
    home = tmp_path / "home dir"
    plan = plan_of(target, runs=str(tmp_path / "shared"))
    found = task(plan)
    tools = tmp_path / "tools"
    for folder in (home / "parc" / target, home / "sky_workdir", tools, tmp_path / "shared"):
        folder.mkdir(parents=True)
    (tools / "torchrun").write_text(TORCHRUN)
    (tools / "torchrun").chmod(0o755)
    for path, text in written(plan).items():
        if path.startswith(f"{target}/"):
            (home / "parc" / path).write_text(text)
    done = subprocess.run(
        ["bash", "-c", found["run"]],
        cwd=home / "sky_workdir",
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(home),
            "SKYPILOT_NUM_NODES": "2",
            "SKYPILOT_NODE_RANK": "1",
            "SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2",
            "SKYPILOT_NUM_GPUS_PER_NODE": "8",
            **found["envs"],
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        announcement(plan.run),
        "--nnodes=2",
        "--nproc-per-node=8",
        "--node-rank=1",
        "--master-addr=10.0.0.1",
        "--master-port=29500",
        str(tmp_path / "shared"),
    ]
    assert (
        tmp_path / "shared" / plan.run.folder / "run.json"
    ).exists() is False, "node 0 writes it"
