"""The launcher of a Kubernetes job counts other nodes than there are pods, or other processes than a pod has
GPUs; or there is no launcher.

Why:
torchrun waits for nodes that never come, or leaves pods without a part; a process without a GPU stops with
"invalid device ordinal". `python` starts one process in each pod: of the pod's GPUs one is used, and where no
operator sets RANK and WORLD_SIZE each pod trains the whole model alone. Nothing is said of a program that
starts its ranks itself, or of pods that share out work by their number.

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

import re
from collections.abc import Iterator

from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading import programs
from ....reading.bash.commands.launching import PYTHONS
from ....reading.bash.trace import TracedCommand, program
from ....reading.facts import number_of
from ...facts.commands import place_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import reads_training_arguments
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

#: What starts ranks by itself, or tells pods apart by their number.
_SPREADS = re.compile(
    r"mp\.spawn|multiprocessing|subprocess|torchrun|torch\.distributed\.run|[Ll]ightning|elastic_launch"
    r"|JOB_COMPLETION_INDEX|job-completion-index|\bray\b|notebook_launcher"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    nodes, pods = launch.number("nodes"), launch.number("pods")
    # One node in each of several pods may be several jobs; other manifests bring pods to a Ray cluster.
    if nodes and pods and nodes != pods and nodes > 1 and not _joined(launch):
        related = (Related(f"{pods} pods", launch.facts["pods"]),)
        # An operator makes the pods one job; other pods may start a part of it each.
        effect = Effect.STOPS if _counted(launch) else None
        message = f"{nodes} nodes in a job of {pods} pods"
        yield Complaint(message, launch.facts["nodes"], related, effect=effect)
    elif nodes == 1 and pods and pods > 1 and _one_job(launch):
        related = (Related(f"{pods} pods of one job", launch.facts["pods"]),)
        message = f"--nnodes 1 in each of {pods} pods: each of them trains alone"
        # The job that the operator sets up never meets: certain, though each pod runs on.
        at = launch.facts["nodes"]
        cure = f"--nnodes {pods}, or none"
        yield Complaint(message, at, related, cure, effect=Effect.STOPS)
    if pods and pods > 1 and (command := _plain(launch)) is not None:
        yield from _one_process(launch, pods, command)
    each, gpus = launch.number("gpus_per_node"), launch.number("gpus_per_pod")
    if each and gpus is not None and each > gpus:
        related = (Related(f"{gpus} GPUs of a pod", launch.facts["gpus_per_pod"]),)
        message = f"{each} processes in a pod of {gpus} GPUs"
        yield Complaint(message, launch.facts["gpus_per_node"], related)


def _joined(launch: LaunchedJob) -> bool:
    """Whether the pods start a cluster of Ray, which others join."""
    return any(
        each.programs[-1] == "ray" and "start" in {word.text for word in each.words[1:3]}
        for each in launch.config.trace
    )


def _one_job(launch: LaunchedJob) -> bool:
    """Whether an operator counts the pods as the nodes of one job, and the command says otherwise."""
    return _counted(launch) and number_of(launch.setting("launcher", "--nnodes")) == 1


def _counted(launch: LaunchedJob) -> bool:
    told = launch.setting("environment", "PET_NNODES")
    return told is not None and number_of(told) == launch.number("pods")


def _one_process(launch: LaunchedJob, pods: int, command: TracedCommand) -> Iterator[Complaint]:
    """Pods in each of which `python` starts one process."""
    gpus, told = launch.number("gpus_per_pod"), launch.setting("environment", "WORLD_SIZE")
    related = (Related(f"{pods} pods", launch.facts["pods"]),)
    severity: Severity | None = None if _one_rank(launch) else "warning"
    effect = Effect.STOPS if severity is None else None
    at = place_of(command.words[0], command)
    # Of a program that is not known no environment is.
    if told is None and launch.kind.launcher == "none":
        message = (
            f"python starts the training in each of {pods} pods, which do not know of each other"
        )
    elif gpus is not None and gpus > 1:
        message = f"python starts one process in each of {pods} pods of {gpus} GPUs"
    else:
        return
    help_text = f"torchrun --nnodes {pods} --nproc-per-node {gpus or 'GPUS'} ..."
    yield Complaint(message, at, related, help_text, severity, effect=effect)


def _plain(launch: LaunchedJob) -> TracedCommand | None:
    """The command by which `python` starts the one program of a pod, where nothing tells that it starts
    others."""
    if launch.kind.launcher not in ("", "none") or launch.kind.program == "verl":
        return None
    started = [each for each in launch.config.trace if each.programs[-1] in PYTHONS]
    if len(started) != 1 or len(started[0].programs) > 1:
        return None
    named = [word for word in started[0].words[1:2] if word.tail.endswith(".py")]
    if not named or not programs.trains(program(named[0])):
        return None
    text = launch.beside(named[0].lead) or ""
    spreads = any(_SPREADS.search(each) for each in (text, *launch.config.texts.values()))
    return None if spreads else started[0]


def _one_rank(launch: LaunchedJob) -> bool:
    """Whether the program is known to be one rank a process."""
    own = launch.framework in ("megatron", "torchtitan", "deepspeed")
    return own or reads_training_arguments(launch)
