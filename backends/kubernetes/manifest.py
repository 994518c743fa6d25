"""`Plan` -> its manifest: the files that the pods run, and the object that an operator makes the pods of."""

from collections.abc import Callable, Mapping

from ...compiler.plan import Plan
from ...dsl.diagnostics import JobError
from ..backend import NO_FILES
from ..languages import yaml
from ..render import nodes_text, provenance
from .names import name, operator_of, settings
from .pod import Object, command, container, environment, resources, template
from .problems import problems

#: The role that Kubeflow's Trainer gives the pods that train, and their container.
NODE = "node"
#: The container that the training operator looks for.
PYTORCH = "pytorch"
#: The status of an entry script that refuses to start.
REFUSED = 2


def emit(plan: Plan, entry: str, files: Mapping[str, str] = NO_FILES) -> dict[str, str]:
    """The manifest of `entry`, a path below the output folder, and of the `files` beside it, which come last.

    Raises `JobError` for settings that Kubernetes would refuse.
    """
    own = own_files(plan, files)
    if found := problems(plan, own):
        raise JobError(found)
    operator = OPERATORS[operator_of(plan.job)]
    path = f"kubernetes/{plan.target}.yaml"
    objects = [*_group(plan), *operator(plan, entry), config_map(plan, own)]
    return {path: str(yaml.documents(objects, remarks(plan, path)))}


def remarks(plan: Plan, path: str) -> list[str]:
    """Comments at the top of a manifest."""
    gpus = plan.job.cluster.gpus_per_node
    return [
        provenance(plan),
        f"{nodes_text(plan.layout.nodes)} of {gpus} GPUs, a pod each. To start it:",
        f"  kubectl create -f {path}",
    ]


def own_files(plan: Plan, files: Mapping[str, str]) -> dict[str, str]:
    """The target's files by their names alone."""
    top = f"{plan.target}/"
    return {path.rpartition("/")[2]: text for path, text in files.items() if path.startswith(top)}


def config_map(plan: Plan, own: Mapping[str, str]) -> Object:
    """The files that the pods mount."""
    return {"apiVersion": "v1", "kind": "ConfigMap", **_named(plan), "data": dict(own)}


def _named(plan: Plan, labels: Mapping[str, str] | None = None) -> Object:
    found: Object = {"name": name(plan)}
    if namespace := settings(plan.job).namespace:
        found["namespace"] = namespace
    return {"metadata": {**found, "labels": dict(labels)} if labels else found}


def queued(plan: Plan) -> Object:
    """The metadata of an object that Kueue may hold back."""
    queue = settings(plan.job).queue
    return _named(plan, {"kueue.x-k8s.io/queue-name": queue} if queue else None)


def _group(plan: Plan) -> list[Object]:
    """The group of the pods, where their scheduler wants one."""
    gang = settings(plan.job).gang
    if gang is None:
        return []
    version = {
        "volcano": "scheduling.volcano.sh/v1beta1",
        "coscheduling": "scheduling.x-k8s.io/v1alpha1",
    }[gang]
    members: Object = {"minMember": plan.layout.nodes}
    return [{"apiVersion": version, "kind": "PodGroup", **_named(plan), "spec": members}]


def _job_set(plan: Plan, entry: str) -> list[Object]:
    """A pod's number is that of the indexed Job, node 0's name that of its pod in JobSet's own service."""
    place = {
        "NNODES": str(plan.layout.nodes),
        "MASTER_ADDR": f"{name(plan)}-{NODE}-0-0.{name(plan)}",
    }
    words, arguments = command(entry)
    of = {
        "name": NODE,
        "image": settings(plan.job).image,
        "command": words,
        "args": arguments,
        "env": environment(plan, place),
        "resources": resources(plan),
        **container(plan, NODE),
    }
    job: Object = {"completionMode": "Indexed", "parallelism": plan.layout.nodes}
    job |= {"completions": plan.layout.nodes, **_once(), "template": template(plan, of)}
    spec = {
        "network": {"enableDNSHostnames": True, "subdomain": name(plan)},
        **_restarts(plan),
        "replicatedJobs": [{"name": NODE, "replicas": 1, "template": {"spec": job}}],
    }
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return [{**kind, **queued(plan), "spec": spec}]


def _once() -> Object:
    """A Job ends with its first pod that fails, since the others wait for it; for good where the entry
    refused to start, which a new start would not cure."""
    refused = {"containerName": NODE, "operator": "In", "values": [REFUSED]}
    rule = {"action": "FailJob", "onExitCodes": refused}
    return {"backoffLimit": 0, "podFailurePolicy": {"rules": [rule]}}


def _restarts(plan: Plan) -> Object:
    rule = {
        "name": "refused",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
    }
    return {"failurePolicy": {"maxRestarts": settings(plan.job).restarts, "rules": [rule]}}


def _train_job(plan: Plan, entry: str) -> list[Object]:
    """A TrainJob and the runtime of its own that it refers to, which says what the pods mount and how often
    they are started again."""
    kind: Object = {"apiVersion": "trainer.kubeflow.org/v1alpha1"}
    launch, nodes = settings(plan.job), plan.layout.nodes
    ancestor = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    pods = {
        "name": NODE,
        "replicas": 1,
        "template": {
            "metadata": {"labels": ancestor},
            "spec": {**_once(), "template": template(plan, container(plan, NODE))},
        },
    }
    spec: Object = {
        "mlPolicy": {"numNodes": nodes, "torch": {}},
        "template": {"spec": {**_restarts(plan), "replicatedJobs": [pods]}},
    }
    runtime = {**kind, "kind": "TrainingRuntime", **_named(plan), "spec": spec}
    words, arguments = command(entry)
    trainer = {
        "numNodes": nodes,
        "numProcPerNode": plan.job.cluster.gpus_per_node,
        "image": launch.image,
        "command": words,
        "args": arguments,
        "env": environment(plan, {}),
        "resourcesPerNode": resources(plan),
    }
    reference = {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "TrainingRuntime",
        "name": name(plan),
    }
    job = {"runtimeRef": reference, "trainer": trainer}
    return [runtime, {**kind, "kind": "TrainJob", **queued(plan), "spec": job}]


def _pytorch_job(plan: Plan, entry: str) -> list[Object]:
    """One master, which is node 0, and workers: the operator tells each its number and the master's name."""
    words, arguments = command(entry)
    of = {
        "name": PYTORCH,
        "image": settings(plan.job).image,
        "command": words,
        "args": arguments,
        "env": environment(plan, {}),
        "resources": resources(plan),
        **container(plan, PYTORCH),
    }
    pods = template(plan, of, restarts=None)
    roles = {"Master": 1, "Worker": plan.layout.nodes - 1}
    spec = {
        "nprocPerNode": str(plan.job.cluster.gpus_per_node),
        "runPolicy": {"backoffLimit": settings(plan.job).restarts, "cleanPodPolicy": "Running"},
        "pytorchReplicaSpecs": {
            role: {"replicas": count, "restartPolicy": "OnFailure", "template": pods}
            for role, count in roles.items()
            if count
        },
    }
    kind = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
    return [{**kind, **queued(plan), "spec": spec}]


OPERATORS: dict[str, Callable[[Plan, str], list[Object]]] = {
    "jobset": _job_set,
    "trainjob": _train_job,
    "pytorchjob": _pytorch_job,
}
