"""Manifests: their fields by the operators' own schemas, what they refuse, and pods in a local emulation."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from parc.backends import BACKENDS
from parc.backends.kubernetes import LAUNCHER, problems
from parc.backends.kubernetes.pod import unexpanded
from parc.backends.launch_files import read_jobs
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.launchers import Kubernetes
from tests.support.json_schema import faults
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan

SCHEMAS = json.loads((ROOT / "tests" / "cases" / "kubernetes_schemas.json").read_text())
OPERATORS = ("jobset", "trainjob", "pytorchjob")
TARGETS = ("megatron", "deepspeed", "torchtitan")
NODES = {1: Layout(dp_shard=8, zero=3), 2: Layout(dp_shard=16, zero=3)}
IMAGE = "registry/train:1"
every_operator = pytest.mark.parametrize("operator", OPERATORS)
every_target = pytest.mark.parametrize("target", TARGETS)


def plan_of(target: str = "megatron", nodes: int = 2, **settings: Any) -> Plan:
    launch = Kubernetes(**{"image": IMAGE, **settings})
    options = BACKENDS[target].target.options()
    return sample_plan(target, options, layout=NODES[nodes], launch=launch)


def files_of(plan: Plan) -> dict[str, str]:
    return BACKENDS[plan.target].emit(plan)


def manifest(plan: Plan) -> dict[str, str]:
    return LAUNCHER.emit(plan, BACKENDS[plan.target].entry, files_of(plan))


def objects(plan: Plan) -> list[dict[str, Any]]:
    (text,) = manifest(plan).values()
    return list(yaml.load_all(str(text), yaml.CSafeLoader))


def of_kind(plan: Plan, kind: str) -> dict[str, Any]:
    return next(each for each in objects(plan) if each["kind"] == kind)


def drawn(dice: random.Random) -> Plan:
    settings = settings_by_chance(dice)
    return plan_of(dice.choice(TARGETS), dice.choice([1, 2]), **settings)


def settings_by_chance(dice: random.Random) -> dict[str, Any]:
    """Settings of pods, all of which agree."""
    queue = dice.random() < 0.5
    volumes = dice.sample(["data:/data", "runs:/runs", "/mnt/nvme:/scratch", "a-1:/x/y"], 2)
    choices: dict[str, Any] = {
        "operator": dice.choice(OPERATORS),
        "job_name": dice.choice(["run", "a-run-2"]),
        "namespace": "team",
        "volumes": tuple(volumes),
        "shared_memory": dice.randrange(1, 2**40),
        "rdma": dice.choice(["rdma/ib", "vpc.amazonaws.com/efa"]),
        "host_network": dice.random() < 0.5,
        "node_selector": {"node.kubernetes.io/instance-type": "p5", "spot": False, "rack": 7},
        "tolerations": ("nvidia.com/gpu",),
        "service_account": "trainer",
        "pull_secret": "registry",
        "priority": "high",
        "secrets": ("wandb", "hf"),
        "restarts": dice.randrange(20),
        "signal": dice.choice([0.0, 900.5]),
    }
    choices |= (
        {"queue": "llm", "topology": "cloud/rack"}
        if queue
        else {"gang": dice.choice(["volcano", "coscheduling"])}
    )
    kept = {key: value for key, value in choices.items() if dice.random() < 0.6}
    if "queue" not in kept:
        kept.pop("topology", None)
    return kept


@pytest.mark.parametrize("seed", range(120))
def test_every_field_is_one_of_the_operators(seed: int) -> None:
    plan = drawn(random.Random(seed))
    for each in objects(plan):
        assert list(faults(each, SCHEMAS[each["kind"]], SCHEMAS)) == []
    assert LAUNCHER.read(manifest(plan)).values() == LAUNCHER.facts(plan)


@pytest.mark.parametrize("operator", ["jobset", "pytorchjob"])
@every_target
def test_lint_reads_the_job_that_the_pods_run(operator: str, target: str) -> None:
    """The manifest gives the facts of its entry script, which lies beside it, and the number of its pods."""
    plan = plan_of(target, operator=operator, volumes=("runs:/runs",))
    (pods,) = read_jobs({**files_of(plan), **manifest(plan)})
    (alone,) = read_jobs(files_of(plan))
    assert str(pods.kind).startswith(f"kubernetes+{target}")
    assert pods.values() == {**alone.values(), "pods": 2, "gpus_per_pod": 8}
    assert not pods.unread


def test_lint_reads_a_train_job_beside_its_files() -> None:
    plan = plan_of(operator="trainjob")
    jobs = read_jobs({**files_of(plan), **manifest(plan)})
    (pods,) = (job for job in jobs if job.kind.scheduler == "kubernetes")
    assert (pods.values()["pods"], pods.values()["gpus_per_pod"]) == (2, 8)
    assert not any(each.missing for each in pods.unread), "its script lies in the image"


@every_target
def test_the_files_that_pods_run_are_those_beside_the_manifest(target: str) -> None:
    plan = plan_of(target)
    own = {path.partition("/")[2]: text for path, text in files_of(plan).items()}
    assert of_kind(plan, "ConfigMap")["data"] == own


def pod_of(plan: Plan) -> dict[str, Any]:
    """The pod that runs the entry script; a TrainJob's has its command and variables from the job."""
    kinds = {each["kind"]: each for each in objects(plan)}
    if "PyTorchJob" in kinds:
        roles = kinds["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]
        pod: dict[str, Any] = roles["Master"]["template"]["spec"]
        assert all(role["template"]["spec"] == pod for role in roles.values())
        return pod
    whole = kinds.get("JobSet") or kinds["TrainingRuntime"]["spec"]["template"]
    (job,) = whole["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["spec"]
    if "TrainJob" in kinds:
        trainer = kinds["TrainJob"]["spec"]["trainer"]
        pod["containers"][0] |= {
            name: trainer[name] for name in ("command", "args", "env", "image")
        }
        pod["containers"][0]["resources"] = trainer["resourcesPerNode"]
    return pod


def operator_sets(operator: str, rank: int) -> dict[str, str]:
    """What each operator sets in the containers of a job `job` of two pods."""
    if operator == "jobset":
        return {"JOB_COMPLETION_INDEX": str(rank)}
    if operator == "trainjob":
        return {
            "PET_NNODES": "2",
            "PET_NPROC_PER_NODE": "8",
            "PET_NODE_RANK": str(rank),
            "PET_MASTER_ADDR": "job-node-0-0.job",
            "PET_MASTER_PORT": "29500",
            "JOB_COMPLETION_INDEX": str(rank),
        }
    return {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "8",
        "PET_NODE_RANK": str(rank),
        "MASTER_ADDR": "job-master-0",
        "MASTER_PORT": "29500",
        "WORLD_SIZE": "16",
        "RANK": str(rank),
    }


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """What Kubernetes makes of a command's word: `$(NAME)` is a variable's value, `$$` is `$`."""
    pattern = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
    return pattern.sub(
        lambda found: ("$" if found[0] == "$$" else variables.get(found[1], found[0])),
        text,
    )


#: torchrun's stand-in, whose worker saves when it is told to; it passes TERM on unless it is to ignore it.
TORCHRUN = """#!/usr/bin/env python3
import os, pathlib, signal, subprocess, sys
out = pathlib.Path(os.environ["OUT"])
told = [word for word in sys.argv if word.startswith(("--n", "--master")) and "=" in word]
(out / "told").write_text("\\n".join(told))
(out / "run").write_text(os.environ.get("RUN_DIR", ""))
if "FAILS" in os.environ:
    sys.exit(int(os.environ["FAILS"]))
worker = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("worker.py"))])
if signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
    signal.signal(signal.SIGTERM, lambda *_: worker.terminate())
sys.exit(worker.wait())
"""
WORKER = """
import os, pathlib, signal, sys, time
out = pathlib.Path(os.environ["OUT"])
def save(*_):
    (out / "saved").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
(out / "ready").touch()
time.sleep(60)
"""


def start(plan: Plan, folder: Path, rank: int, **variables: str) -> subprocess.Popen[str]:
    """A pod's container as a process, whose volumes are folders below `folder`."""
    pod = pod_of(plan)
    (container,) = pod["containers"]
    tools, out = folder / "tools", folder / f"out-{rank}"
    for each in (tools, out, folder / "parc" / plan.target):
        each.mkdir(parents=True, exist_ok=True)
    (tools / "torchrun").write_text(TORCHRUN)
    (tools / "torchrun").chmod(0o755)
    (tools / "worker.py").write_text(WORKER)
    for name, text in of_kind(plan, "ConfigMap")["data"].items():
        (folder / "parc" / plan.target / name).write_text(text)
    own = {each["name"]: each["value"] for each in container["env"]}
    assert isinstance(plan.job.launch, Kubernetes)
    given = {**operator_sets(plan.job.launch.operator, rank), **own}
    words = [expanded(word, given) for word in [*container["command"], *container["args"]]]
    words = [f"{folder}{word}" if word.startswith("/parc/") else word for word in words]
    given |= {"RUN_DIR": f"{folder}{given['RUN_DIR']}"} if "RUN_DIR" in given else {}
    return subprocess.Popen(
        words,
        cwd=folder,
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(folder),
            "OUT": str(out),
            **given,
            **variables,
        },
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path) -> None:
    for _ in range(4000):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"no {path.name}")


@every_operator
@every_target
def test_pods_know_their_place_and_save_when_they_are_stopped(
    operator: str, target: str, tmp_path: Path
) -> None:
    plan = plan_of(target, operator=operator, job_name="job", volumes=("claim:/runs",))
    pods = [start(plan, tmp_path, rank) for rank in (0, 1)]
    hosts = {
        "jobset": "job-node-0-0.job",
        "trainjob": "job-node-0-0.job",
        "pytorchjob": "job-master-0",
    }
    try:
        for rank in (0, 1):
            wait_for(tmp_path / f"out-{rank}" / "ready")
            told = (tmp_path / f"out-{rank}" / "told").read_text().splitlines()
            assert told == [
                "--nnodes=2",
                "--nproc-per-node=8",
                f"--node-rank={rank}",
                f"--master-addr={hosts[operator]}",
                "--master-port=29500",
            ]
        pods[1].send_signal(signal.SIGTERM)  # the node of one pod is drained
        assert pods[1].wait(30) != 0, "a pod that was stopped is not done"
        assert (tmp_path / "out-1" / "saved").exists()
        assert pods[0].poll() is None
    finally:
        for pod in pods:
            pod.terminate()
            pod.communicate(timeout=30)


def test_the_status_of_the_entry_is_that_of_the_pod(tmp_path: Path) -> None:
    plan = plan_of("torchtitan", job_name="job")
    assert start(plan, tmp_path, 0, FAILS="7").wait(30) == 7
    refused = start(plan, tmp_path, 0, NNODES="3")
    assert refused.wait(30) == 2 and "NNODES=3" in (refused.communicate()[1] or "")


@every_operator
def test_a_pod_has_what_training_takes(operator: str) -> None:
    plan = plan_of(
        operator=operator, volumes=("runs:/runs",), rdma="rdma/ib", rdma_count=8, signal=900.0
    )
    pod = pod_of(plan)
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 8, "rdma/ib": 8}}
    assert {"name": "shared-memory", "mountPath": "/dev/shm"} in container["volumeMounts"]
    assert {"name": "shared-memory", "emptyDir": {"medium": "Memory"}} in pod["volumes"]
    claim = {"persistentVolumeClaim": {"claimName": "runs"}}
    assert {"name": "volume-1", **claim} in pod["volumes"]
    assert pod["terminationGracePeriodSeconds"] == 900


def test_a_start_that_is_refused_is_not_repeated() -> None:
    """Status 2 of the entry script fails the Job by its policy, and that the JobSet."""
    job_set = of_kind(plan_of(restarts=5), "JobSet")["spec"]
    job = job_set["replicatedJobs"][0]["template"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule == {
        "action": "FailJob",
        "onExitCodes": {"containerName": "node", "operator": "In", "values": [2]},
    }
    assert job["backoffLimit"] == 0
    assert job_set["failurePolicy"]["maxRestarts"] == 5
    (rule,) = job_set["failurePolicy"]["rules"]
    assert (rule["action"], rule["onJobFailureReasons"]) == ("FailJobSet", ["PodFailurePolicy"])


@pytest.mark.parametrize("text", ["$$", "$(date)", "a $$(x) $$$$ $x ${y}", "$"])
def test_no_text_is_expanded(text: str) -> None:
    assert expanded(unexpanded(text), {"x": "wrong", "date": "wrong"}) == text


REFUSED = [
    (
        {"job_name": "My_Run"},
        "PAR626",
        "`job_name` is not a Kubernetes name of at most 40 characters",
    ),
    (
        {"job_name": "a" * 41},
        "PAR626",
        "`job_name` is not a Kubernetes name of at most 40 characters",
    ),
    ({"namespace": "a b"}, "PAR626", "`namespace` is not a Kubernetes name: `a b`"),
    ({"image": ""}, "PAR626", "`image` is empty"),
    ({"rdma": "rdma ib"}, "PAR626", "`rdma` has no key of a label or resource: `rdma ib`"),
    (
        {"node_selector": {"a": "b c"}},
        "PAR626",
        "`a` cannot be `b c`: not a valid value of a label",
    ),
    ({"secrets": ("A",)}, "PAR626", "an entry of `secrets` is not a Kubernetes name: `A`"),
    ({"volumes": ("runs",)}, "PAR628", "`runs` is not a volume and its path"),
    ({"volumes": ("runs:x",)}, "PAR628", "`runs:x` is not a volume and its path"),
    ({"volumes": ("a:/x", "b:/x")}, "PAR628", "two volumes at `/x`"),
    (
        {"volumes": ("a:/parc",)},
        "PAR628",
        "a volume at `/parc` hides a folder that every pod needs",
    ),
    ({"volumes": ("a:/x",), "runs": "/y"}, "PAR628", "`runs` is not on a volume: `/y`"),
    ({"queue": "a", "gang": "volcano"}, "PAR629", "`queue` and `gang` both start all pods at once"),
    ({"topology": "a/b"}, "PAR629", "`topology` needs Kueue, and the job sets no `queue`"),
    ({"rdma_count": 4}, "PAR629", "`rdma_count` has no effect without `rdma`"),
]


@pytest.mark.parametrize(("settings", "code", "message"), REFUSED)
def test_what_kubernetes_refuses_is_told(settings: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(JobError) as caught:
        manifest(plan_of(**settings))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message[: len(message)]) == (code, message)


def test_files_that_no_config_map_holds_are_told() -> None:
    (found,) = problems.problems(plan_of(), {"a": "x" * (1 << 20), "b": "x"})
    assert found.code == "PAR627" and "1,048,577 bytes" in found.message


def told(**settings: Any) -> Iterator[str]:
    return (found.code for found in LAUNCHER.warnings(plan_of(**settings)))


def test_checkpoints_without_a_volume_are_told() -> None:
    assert list(told()) == ["PAR630"]
    assert list(told(volumes=("runs:/runs",))) == []
    pod = pod_of(plan_of(job_name="job", volumes=("a:/data", "b:/x"), runs="/x/runs"))
    variables = pod["containers"][0]["env"]
    (env,) = (each["value"] for each in variables if each["name"] == "RUN_DIR")
    assert env == f"/x/runs/{plan_of().run.folder}"


def test_names_are_those_that_kubernetes_takes() -> None:
    plan = plan_of()
    assert of_kind(plan, "JobSet")["metadata"]["name"] == "llama3-8b-megatron"
    long = plan.job.model_copy(update={"name": "Ein.Sehr_langer Name" * 4})
    (text,) = manifest(plan.model_copy(update={"job": long})).values()
    name = list(yaml.load_all(str(text), yaml.CSafeLoader))[0]["metadata"]["name"]
    assert re.fullmatch(r"[a-z0-9-]{1,40}", name) and name.endswith("-megatron")
