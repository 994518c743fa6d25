"""`Plan` -> the pod that runs its entry script, in the words of Kubernetes' API."""

import math
import re
from collections.abc import Mapping

from ...compiler.plan import Plan
from .names import FILES, name, runs_folder, settings, volume

Object = dict[str, object]

#: Seconds between TERM and KILL where no checkpoint is written; Kubernetes' default.
GRACE_SECONDS = 30
#: GPUs by their maker (the names of the device plugins).
GPUS = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
#: Schedulers that start all pods of a group at once: their name, and how a pod names its group. Volcano's
#: annotation: volcano.sh/apis scheduling/v1beta1; the label: sigs.k8s.io/scheduler-plugins, coscheduling.
GANGS = {
    "volcano": ("volcano", "annotations", "scheduling.k8s.io/group-name"),
    "coscheduling": (
        "scheduler-plugins-scheduler",
        "labels",
        "scheduling.x-k8s.io/pod-group",
    ),
}

#: What a container runs, with the path of the entry script behind it.
STARTER = """\
# Kubernetes stops a pod by TERM to this shell alone. The entry script then saves, and the pod counts as
# failed even so: the job is not done, and goes on from that checkpoint when it is started again.
entry="" stopped=0
trap 'stopped=143; kill -TERM "$entry"' TERM
bash "$0" "$@" &
entry=$!
status=0
wait "$entry" || status=$?
while kill -0 "$entry" 2>/dev/null; do # a signal ends `wait` early
    status=0
    wait "$entry" || status=$?
done
exit "$((status ? status : stopped))"
"""


def command(entry: str) -> tuple[list[str], list[str]]:
    """The command of a container and its arguments."""
    return ["bash", "-c"], [unexpanded(STARTER), f"{FILES}/{entry}"]


def unexpanded(text: str) -> str:
    """A text from which Kubernetes makes the text itself: it replaces `$(NAME)`, and `$$` by `$`."""
    return re.sub(r"\$(?=[$(])", "$$", text)


def environment(plan: Plan, given: Mapping[str, str]) -> list[Object]:
    """Variables of the container: those given, and where the run's folder is."""
    folder = runs_folder(plan.job)
    found = {**given, **({"RUN_DIR": f"{folder}/{plan.run.folder}"} if folder else {})}
    return [{"name": key, "value": unexpanded(value)} for key, value in found.items()]


def resources(plan: Plan) -> Object:
    """The devices of a pod: its limits, which are its requests too."""
    launch, cluster = settings(plan.job), plan.job.cluster
    limits: Object = {GPUS[cluster.gpu.vendor]: cluster.gpus_per_node}
    if launch.rdma:
        limits[launch.rdma] = launch.rdma_count
    return {"limits": limits}


def mounts(plan: Plan) -> list[Object]:
    own: list[Object] = [
        {"name": f"volume-{number}", "mountPath": volume(text)[1]}
        for number, text in enumerate(settings(plan.job).volumes, 1)
    ]
    return [
        {"name": "files", "mountPath": f"{FILES}/{plan.target}", "readOnly": True},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
        *own,
    ]


def volumes(plan: Plan) -> list[Object]:
    launch = settings(plan.job)
    memory: Object = {"medium": "Memory"}
    if launch.shared_memory is not None:
        memory["sizeLimit"] = launch.shared_memory
    found: list[Object] = [
        {"name": "files", "configMap": {"name": name(plan)}},
        {"name": "shared-memory", "emptyDir": memory},
    ]
    for number, text in enumerate(launch.volumes, 1):
        source = volume(text)[0]
        kind: Object = (
            {"hostPath": {"path": source}}
            if source.startswith("/")
            else {"persistentVolumeClaim": {"claimName": source}}
        )
        found.append({"name": f"volume-{number}", **kind})
    return found


def container(plan: Plan, role: str) -> Object:
    """The container without its command, image and variables, which a TrainJob says elsewhere."""
    launch = settings(plan.job)
    found: Object = {"name": role}
    if folder := runs_folder(plan.job):  # what a path of the job is relative to
        found["workingDir"] = folder
    if launch.secrets:
        found["envFrom"] = [{"secretRef": {"name": secret}} for secret in launch.secrets]
    if launch.rdma:  # registered memory is locked
        found["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    return {**found, "volumeMounts": mounts(plan)}


def template(plan: Plan, of: Object, restarts: str | None = "Never") -> Object:
    """The template of a pod with one container."""
    launch = settings(plan.job)
    selector = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in launch.node_selector.items()
    }
    spec: Object = {
        "restartPolicy": restarts,
        "terminationGracePeriodSeconds": grace_seconds(plan),
        "schedulerName": GANGS[launch.gang][0] if launch.gang else None,
        "priorityClassName": launch.priority,
        "serviceAccountName": launch.service_account,
        "imagePullSecrets": [{"name": launch.pull_secret}] if launch.pull_secret else None,
        "nodeSelector": selector or None,
        "tolerations": [{"key": key, "operator": "Exists"} for key in launch.tolerations] or None,
        "hostNetwork": launch.host_network or None,
        "dnsPolicy": "ClusterFirstWithHostNet" if launch.host_network else None,
        "containers": [of],
        "volumes": volumes(plan),
    }
    found: Object = {"spec": {key: value for key, value in spec.items() if value is not None}}
    return {"metadata": metadata, **found} if (metadata := _metadata(plan)) else found


def grace_seconds(plan: Plan) -> int:
    return max(GRACE_SECONDS, math.ceil(plan.signal_seconds))


def _metadata(plan: Plan) -> Object:
    """Labels and annotations that schedulers read of a pod."""
    launch = settings(plan.job)
    found: dict[str, Object] = {}
    if launch.topology:
        found["annotations"] = {"kueue.x-k8s.io/podset-preferred-topology": launch.topology}
    if launch.gang:
        _, kind, key = GANGS[launch.gang]
        found.setdefault(kind, {})[key] = name(plan)
    return dict(found)
