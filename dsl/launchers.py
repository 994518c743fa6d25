"""Launchers: the settings of `launch slurm`, `kubernetes`, `hosts`, `skypilot` and `ray`.

A setting that several launchers have is of one type in all of them.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from .settings import Bytes, Count, Doc, Frozen, Seconds, Unit

Table = dict[str, str | int | bool]


class Launch(Frozen):
    """How the job is started: the fields of `launch slurm { ... }`. The site decides what is None."""

    kind: Literal["slurm"] = "slurm"
    job_name: Annotated[str | None, Doc("the job file's name unless given")] = None
    partition: Annotated[str | None, Doc("where to queue")] = None
    account: Annotated[str | None, Doc("who pays")] = None
    qos: Annotated[str | None, Doc("quality of service")] = None
    constraint: Annotated[str | None, Doc("node features that the job needs")] = None
    reservation: Annotated[str | None, Doc("nodes set aside for it")] = None
    time: Annotated[Seconds | None, Doc("wall time")] = None
    signal: Annotated[
        Seconds | None,
        Doc(
            "warning before the wall time, for a last checkpoint; at least ten minutes, a step and five, "
            "unless given"
        ),
    ] = None
    requeue: Annotated[
        int,
        Unit("1"),
        Field(ge=0, le=1000),
        Doc("failures that another start follows; 0: nothing does"),
    ] = 3
    exclusive: Annotated[bool, Doc("no other job on its nodes")] = True
    gpu_request: Annotated[
        Literal["gpus-per-node", "gres"], Doc("how the site wants GPUs asked for")
    ] = "gpus-per-node"
    gpu_type: Annotated[str | None, Doc("type in the GPU request, such as h100")] = None
    container: Annotated[str | None, Doc("image for pyxis")] = None
    mounts: Annotated[str | None, Doc("of the container: source:target, comma-separated")] = None
    modules: Annotated[tuple[str, ...], Doc("module load lines")] = ()
    setup: Annotated[tuple[str, ...], Doc("shell lines before the launch")] = ()
    segment: Annotated[
        Count | None, Doc("--segment for NVL72 block topology; computed unless given")
    ] = None
    env: Annotated[
        dict[str, str | int | bool], Doc("variables of the environment, beside the target's own")
    ] = {}
    health_check: Annotated[
        bool,
        Doc(
            "look at GPUs and network before the first step, and start on no node that is broken or slow"
        ),
    ] = True
    extra: Annotated[
        dict[str, str | int | bool], Doc("any other sbatch option, by its long name")
    ] = {}


class Launcher(Frozen):
    """Settings that all launchers but SLURM have. None of them ends a job after a wall time."""

    time: ClassVar[None] = None

    job_name: Annotated[str | None, Doc("the job file's name and the target unless given")] = None
    restarts: Annotated[
        int, Unit("1"), Field(ge=0, le=1000), Doc("how often a failed job is started again")
    ] = 3
    env: Annotated[Table, Doc("variables of the environment, beside the target's own")] = {}
    health_check: Annotated[
        bool,
        Doc(
            "look at GPUs and network before the first step, and start on no node that is broken or slow"
        ),
    ] = True


class Waiting(Launcher):
    """A launcher that waits, as long as the job says, for the checkpoint of a run that it stops."""

    signal: Annotated[
        Seconds | None,
        Doc(
            "between the request to stop and the end, for a last checkpoint; a step and writing unless given"
        ),
    ] = None


class Pods(Waiting):
    """Settings that pods of any operator have. The cluster's defaults hold for what is None."""

    image: Annotated[str, Doc("of the container, with the framework")]
    namespace: Annotated[str | None, Doc("the one of the context unless given")] = None
    volumes: Annotated[
        tuple[str, ...],
        Doc("claim:path of the container, or /path of the node:path, for data and checkpoints"),
    ] = ()
    runs: Annotated[
        str | None, Doc("folder on a volume for the folders of runs; the first volume unless given")
    ] = None
    shared_memory: Annotated[
        Bytes | None, Doc("size of /dev/shm; as much as the pod may use unless given")
    ] = None
    rdma: Annotated[
        str | None, Doc("resource of the network cards, such as rdma/ib or vpc.amazonaws.com/efa")
    ] = None
    rdma_count: Annotated[Count, Doc("of them in a pod")] = 1
    host_network: Annotated[bool, Doc("pods use the network of their nodes")] = False
    queue: Annotated[str | None, Doc("Kueue's queue, which starts all pods at once")] = None
    topology: Annotated[
        str | None,
        Doc("label of nodes: Kueue packs the pods where its value is the same, if it can"),
    ] = None
    node_selector: Annotated[Table, Doc("labels that the nodes have")] = {}
    tolerations: Annotated[
        tuple[str, ...], Doc("taints of nodes that the pods may run on, by their keys")
    ] = ()
    service_account: Annotated[str | None, Doc("of the pods")] = None
    pull_secret: Annotated[str | None, Doc("with which the image is pulled")] = None
    priority: Annotated[str | None, Doc("class of priority of the pods")] = None
    secrets: Annotated[
        tuple[str, ...], Doc("secrets whose entries are variables of the environment")
    ] = ()


class Kubernetes(Pods):
    """The fields of `launch kubernetes { ... }`."""

    kind: Literal["kubernetes"] = "kubernetes"
    operator: Annotated[
        Literal["jobset", "trainjob", "pytorchjob"],
        Doc("what runs the pods: JobSet, Kubeflow Trainer 2, Kubeflow's training operator 1"),
    ] = "jobset"
    gang: Annotated[
        Literal["volcano", "coscheduling"] | None,
        Doc("scheduler that starts all pods at once, where there is no queue"),
    ] = None


class Ray(Pods):
    """The fields of `launch ray { ... }`: pods that KubeRay joins, in which Ray starts the nodes of a job."""

    kind: Literal["ray"] = "ray"
    gang: ClassVar[None] = None


class Hosts(Waiting):
    """The fields of `launch hosts { ... }`: machines that ssh reaches."""

    kind: Literal["hosts"] = "hosts"
    starter: Annotated[
        Literal["ssh", "mpirun"], Doc("mpirun: Open MPI starts one process on each host")
    ] = "ssh"
    hostfile: Annotated[str, Doc("a file with a host a line; HOSTFILE replaces it")] = "hostfile"
    setup: Annotated[tuple[str, ...], Doc("shell lines before the launch")] = ()


class SkyPilot(Launcher):
    """The fields of `launch skypilot { ... }`: machines that SkyPilot finds, rents and starts again. It waits
    30 seconds for a run that it stops, whatever the job says."""

    signal: ClassVar[None] = None

    kind: Literal["skypilot"] = "skypilot"
    infra: Annotated[
        str | None,
        Doc("where machines are looked for, such as aws/us-east-1 or k8s; everywhere unless given"),
    ] = None
    accelerators: Annotated[
        str | None, Doc("SkyPilot's name of the GPU, such as H100; the cluster's unless given")
    ] = None
    spot: Annotated[bool, Doc("machines that the cloud may take back at any time")] = False
    network_tier: Annotated[
        Literal["standard", "best"],
        Doc("best: several nodes get InfiniBand, EFA or GPUDirect where the cloud has it"),
    ] = "best"
    image: Annotated[str | None, Doc("of the container that runs the job")] = None
    volumes: Annotated[
        tuple[str, ...],
        Doc("SkyPilot's volume or a bucket, such as s3://corpus, and its path on each node"),
    ] = ()
    runs: Annotated[
        str | None,
        Doc(
            "folder for the folders of runs, which outlives the machines; the first volume unless given"
        ),
    ] = None
    setup: Annotated[tuple[str, ...], Doc("shell lines that install the framework")] = ()
