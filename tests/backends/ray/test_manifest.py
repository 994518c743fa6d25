"""RayJobs: their fields by KubeRay's own schema, what their pods run and wait for, and the starter's text."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.backends.ray import LAUNCHER
from parc.backends.ray.manifest import LEAVING
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.launchers import Ray
from tests.backends.kubernetes.test_manifest import settings_by_chance
from tests.support.json_schema import faults
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan

SCHEMAS = json.loads((ROOT / "tests" / "cases" / "kubernetes_schemas.json").read_text())
TARGETS = ("megatron", "deepspeed", "torchtitan")
NODES = {1: Layout(dp_shard=8, zero=3), 2: Layout(dp_shard=16, zero=3)}
every_target = pytest.mark.parametrize("target", TARGETS)


def plan_of(target: str = "megatron", nodes: int = 2, **settings: Any) -> Plan:
    options = BACKENDS[target].target.options()
    launch = Ray(**{"image": "registry/train:1", **settings})
    return sample_plan(target, options, layout=NODES[nodes], launch=launch)


def written(plan: Plan) -> dict[str, str]:
    files = BACKENDS[plan.target].emit(plan)
    return {**files, **LAUNCHER.emit(plan, BACKENDS[plan.target].entry, files)}


def objects(plan: Plan) -> list[dict[str, Any]]:
    return list(yaml.load_all(written(plan)[f"ray/{plan.target}.yaml"], yaml.CSafeLoader))


def drawn(seed: int) -> Plan:
    dice = random.Random(seed)
    settings = settings_by_chance(dice)
    for of_others in ("operator", "gang"):
        settings.pop(of_others, None)
    return plan_of(dice.choice(TARGETS), dice.choice([1, 2]), **settings)


@pytest.mark.parametrize("seed", range(100))
def test_every_field_is_one_of_kuberay(seed: int) -> None:
    plan = drawn(seed)
    for each in objects(plan):
        assert list(faults(each, SCHEMAS[each["kind"]], SCHEMAS)) == []
    manifest = {"ray/x.yaml": written(plan)[f"ray/{plan.target}.yaml"]}
    assert LAUNCHER.read(manifest).values() == LAUNCHER.facts(plan)


@every_target
def test_the_starter_is_told_the_shape_and_the_entry_script(target: str) -> None:
    plan = plan_of(target, volumes=("runs:/runs dir",))
    job, files = objects(plan)
    entry = BACKENDS[target].entry
    assert job["spec"]["entrypoint"] == (
        f'python /parc/{target}/ray_nodes.py --nodes 2 --gpus 8 --folder "/runs dir"'
        f" -- bash /parc/{entry}"
    )
    own = {
        path.partition("/")[2]: text
        for path, text in written(plan).items()
        if path.startswith((f"{target}/", "ray/")) and not path.endswith(".yaml")
    }
    assert files["data"] == own and "ray_nodes.py" in own


def test_nodes_are_workers_and_the_head_has_no_part() -> None:
    plan = plan_of(volumes=("runs:/runs",), rdma="rdma/ib", rdma_count=8, signal=900.0, restarts=4)
    job = objects(plan)[0]["spec"]
    assert (job["backoffLimit"], job["shutdownAfterJobFinishes"]) == (4, True)
    head = job["rayClusterSpec"]["headGroupSpec"]
    assert head["rayStartParams"] == {"num-cpus": "0", "num-gpus": "0"}
    (container,) = head["template"]["spec"]["containers"]
    assert "resources" not in container
    assert {"name": "RAY_JOB_STOP_WAIT_TIME_S", "value": "900"} in container["env"]
    (workers,) = job["rayClusterSpec"]["workerGroupSpecs"]
    assert {workers[name] for name in ("replicas", "minReplicas", "maxReplicas")} == {2}
    pod = workers["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 8, "rdma/ib": 8}}
    assert pod["terminationGracePeriodSeconds"] == 900
    folder = {"name": "RUN_DIR", "value": f"/runs/{plan.run.folder}"}
    assert folder in container["env"]


def test_a_pod_waits_for_its_part_of_the_job(tmp_path: Path) -> None:
    """Before it ends, by the two files of the starter; a pod in which nothing runs ends at once."""
    running, stop = tmp_path / "parc-node.running", tmp_path / "parc-node.stop"
    command, environment = ["bash", "-c", LEAVING], {
        "TMPDIR": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    subprocess.run(command, env=environment, check=True, timeout=10)
    assert not stop.exists()
    running.touch()
    waiting = subprocess.Popen(command, env=environment)
    for _ in range(500):
        if stop.exists():
            break
        time.sleep(0.02)
    assert stop.exists() and waiting.poll() is None
    running.unlink()
    assert waiting.wait(10) == 0


def test_lint_reads_its_pods() -> None:
    jobs = read_jobs(written(plan_of()))
    (pods,) = (job for job in jobs if job.kind.scheduler == "kubernetes")
    assert (pods.values()["pods"], pods.values()["gpus_per_pod"]) == (2, 8)
    assert not any(each.missing for each in pods.unread)


def test_what_kubernetes_refuses_is_told() -> None:
    with pytest.raises(JobError) as caught:
        written(plan_of(volumes=("runs",)))
    assert [found.code for found in caught.value.diagnostics] == ["PAR628"]
    assert [found.code for found in LAUNCHER.warnings(plan_of())] == ["PAR630"]
