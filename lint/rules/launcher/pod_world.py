"""The launcher of a Kubernetes job counts other nodes than there are pods, or more processes than a pod has
GPUs.

Why:
torchrun waits for nodes that never come, or leaves pods without a part; a process without a GPU stops with
"invalid device ordinal".

Bad:
apiVersion: batch/v1
kind: Job
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      containers:
      - name: train
        resources: {limits: {nvidia.com/gpu: 4}}
        command: [torchrun, --nnodes=2, --nproc-per-node=8, train.py]

Good:
apiVersion: batch/v1
kind: Job
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      containers:
      - name: train
        resources: {limits: {nvidia.com/gpu: 8}}
        command: [torchrun, --nnodes=2, --nproc-per-node=8, train.py]
"""

from collections.abc import Iterator

from ....compiler.target import Effect
from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR471"
TITLE = "the launcher's world size differs from that of the pods"
SEVERITY = "error"
SOURCE = (
    "PyTorch 2.13 torch/distributed/run.py, --nnodes; Kubernetes, Schedule GPUs: a container has the "
    "devices of its limit"
)
SINCE = "2026-12"
FILE = "job.yaml"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    nodes, pods = launch.number("nodes"), launch.number("pods")
    # One node in each of several pods may be several jobs.
    if nodes and pods and nodes != pods and nodes > 1:
        related = (Related(f"{pods} pods", launch.facts["pods"]),)
        yield Complaint(f"{nodes} nodes in a job of {pods} pods", launch.facts["nodes"], related)
    elif nodes == 1 and pods and pods > 1 and _one_job(launch):
        related = (Related(f"{pods} pods of one job", launch.facts["pods"]),)
        message = f"--nnodes 1 in each of {pods} pods: each of them trains alone"
        # The job that the operator sets up never meets: certain, though each pod runs on.
        effect = Effect.STOPS
        at = launch.facts["nodes"]
        yield Complaint(message, at, related, f"--nnodes {pods}, or none", effect=effect)
    each, gpus = launch.number("gpus_per_node"), launch.number("gpus_per_pod")
    if each and gpus is not None and each > gpus:
        related = (Related(f"{gpus} GPUs of a pod", launch.facts["gpus_per_pod"]),)
        message = f"{each} processes in a pod of {gpus} GPUs"
        yield Complaint(message, launch.facts["gpus_per_node"], related)


def _one_job(launch: LaunchedJob) -> bool:
    """Whether an operator counts the pods as the nodes of one job, and the command says otherwise."""
    told = launch.setting("environment", "PET_NNODES")
    return number_of(told) == launch.number("pods") and (
        number_of(launch.setting("launcher", "--nnodes")) == 1
    )
