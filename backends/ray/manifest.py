"""`Plan` -> its RayJob: the pods that KubeRay joins, and the command that starts the job in them."""

from collections.abc import Mapping

from ...compiler.plan import Plan
from ...dsl.diagnostics import JobError
from ...reading.facts import Value
from ..backend import NO_FILES
from ..kubernetes.manifest import config_map, own_files, queued, remarks
from ..kubernetes.names import FILES, name, runs_folder, settings
from ..kubernetes.pod import Object, container, environment, grace_seconds, resources, template
from ..kubernetes.problems import problems
from ..languages import bash, yaml
from ..render import provenance, render_python

#: What starts the nodes of a job, as an emitted file and among those of its pods.
STARTER = "ray_nodes.py"

#: What a pod waits for before it ends: its node's part of the job saves and leaves, if it runs.
LEAVING = """\
node="${TMPDIR:-/tmp}/parc-node"
[[ ! -e "$node.running" ]] || touch "$node.stop"
while [[ -e "$node.running" ]]; do sleep 1; done
"""


def emit(plan: Plan, entry: str, files: Mapping[str, str] = NO_FILES) -> dict[str, str]:
    """The RayJob of `entry`, a path below the output folder, and its starter, for any other cluster of Ray.

    Raises `JobError` for settings that Kubernetes would refuse.
    """
    starter = render_python("ray/ray_nodes.py.j2", {"provenance": provenance(plan)})
    own = {**own_files(plan, files), STARTER: starter}
    if found := problems(plan, own):
        raise JobError(found)
    path = f"ray/{plan.target}.yaml"
    text = yaml.documents([_ray_job(plan, entry), config_map(plan, own)], remarks(plan, path))
    return {path: str(text), f"ray/{STARTER}": starter}


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that `read(emit(plan, entry, files))` gives back."""
    return {
        "job_name": name(plan),
        "operator": "rayjob",
        "nodes": plan.layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "max_restarts": settings(plan.job).restarts,
        "signal": grace_seconds(plan),
    }


def _ray_job(plan: Plan, entry: str) -> Object:
    """A new start has a new cluster. The head has no GPUs and no part in the job but its starter."""
    nodes = plan.layout.nodes
    head = {
        "rayStartParams": {"num-cpus": "0", "num-gpus": "0"},
        "template": template(plan, _head(plan), restarts=None),
    }
    workers = {
        "groupName": "nodes",
        "replicas": nodes,
        "minReplicas": nodes,
        "maxReplicas": nodes,
        "rayStartParams": {},
        "template": template(plan, _worker(plan), restarts=None),
    }
    spec = {
        "entrypoint": _entrypoint(plan, entry),
        "shutdownAfterJobFinishes": True,
        "backoffLimit": settings(plan.job).restarts,
        "rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": [workers]},
    }
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", **queued(plan), "spec": spec}


def _entrypoint(plan: Plan, entry: str) -> str:
    gpus, top = plan.job.cluster.gpus_per_node, f"{FILES}/{plan.target}"
    folder = f" --folder {bash.word(path)}" if (path := runs_folder(plan.job)) else ""
    shape = f"--nodes {plan.layout.nodes} --gpus {gpus}{folder}"
    return f"python {top}/{STARTER} {shape} -- bash {FILES}/{entry}"


def _head(plan: Plan) -> Object:
    """Ray waits as long for a job that it stops as a pod has."""
    wait = {"RAY_JOB_STOP_WAIT_TIME_S": str(grace_seconds(plan))}
    own = container(plan, "ray-head")
    return {**own, "image": settings(plan.job).image, "env": environment(plan, wait)}


def _worker(plan: Plan) -> Object:
    return {
        **container(plan, "ray-worker"),
        "image": settings(plan.job).image,
        "env": environment(plan, {}),
        "resources": resources(plan),
        "lifecycle": {"preStop": {"exec": {"command": ["bash", "-c", LEAVING]}}},
    }
