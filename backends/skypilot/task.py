"""`Plan` -> its task: machines, the files that they run, and what outlives them."""

from collections.abc import Iterator, Mapping

from ...compiler.plan import Plan
from ...dsl.diagnostics import JobError
from ..backend import NO_FILES
from ..kubernetes.names import name
from ..languages import bash, yaml
from ..render import nodes_text, provenance
from .names import gpu, run_dir, runs_folder, settings, volume
from .problems import problems

Object = dict[str, object]

#: Where the files that parc wrote are on each node.
FILES = "~/parc"


def emit(plan: Plan, entry: str, files: Mapping[str, str] = NO_FILES) -> dict[str, str]:
    """The task of `entry`, a path below the output folder, in which SkyPilot is started.

    Raises `JobError` for settings that SkyPilot would refuse.
    """
    if found := problems(plan.job):
        raise JobError(found)
    launch, path = settings(plan.job), f"skypilot/{plan.target}.yaml"
    buckets = {path: _bucket(plan, source, path) for source, path in _mounted(plan, buckets=True)}
    task: Object = {
        "name": name(plan),
        "num_nodes": plan.layout.nodes,
        "resources": _resources(plan),
        "file_mounts": {f"{FILES}/{plan.target}": plan.target, **buckets},
        "volumes": {path: source for source, path in _mounted(plan, buckets=False)},
        "envs": {"RUN_DIR": folder} if (folder := run_dir(plan)) else {},
        "setup": "".join(f"{line}\n" for line in launch.setup),
        "run": _command(plan, entry),
    }
    shape = f"{nodes_text(plan.layout.nodes)} of {plan.job.cluster.gpus_per_node} GPUs"
    remarks = [
        provenance(plan),
        f"{shape}. To start it, and again when it fails or loses a machine:",
        f"  sky jobs launch {path}",
    ]
    return {path: str(yaml.documents([_given(task)], remarks))}


def _given(task: Object) -> Object:
    return {key: value for key, value in task.items() if value not in (None, "", {}, False)}


def _resources(plan: Plan) -> Object:
    """Machines, and how often a failed job is started again; lost machines are replaced beside that."""
    launch = settings(plan.job)
    several = plan.layout.nodes > 1
    return _given(
        {
            "infra": launch.infra,
            "accelerators": f"{gpu(plan.job)}:{plan.job.cluster.gpus_per_node}",
            "use_spot": launch.spot,
            "network_tier": launch.network_tier if several else None,
            "image_id": f"docker:{launch.image}" if launch.image else None,
            "job_recovery": {"max_restarts_on_errors": launch.restarts},
        }
    )


def _mounted(plan: Plan, buckets: bool) -> Iterator[tuple[str, str]]:
    """Volumes, or buckets, each with its path."""
    for source, path in map(volume, settings(plan.job).volumes):
        if ("://" in source) == buckets:
            yield source, path


def _bucket(plan: Plan, source: str, path: str) -> Object:
    """One that checkpoints are written to has a cache on the node's disk: without it SkyPilot mounts
    buckets in which no file can be changed or renamed."""
    runs = f"{runs_folder(plan.job)}/"
    written = runs.startswith(f"{path.rstrip('/')}/")
    return {"source": source, "mode": "MOUNT_CACHED" if written else "MOUNT"}


def _command(plan: Plan, entry: str) -> str:
    """The entry script reads SkyPilot's variables, and becomes the process that SkyPilot stops."""
    folder = runs_folder(plan.job)
    begin = f"cd {bash.path(folder)} # what a path of the job is relative to\n" if folder else ""
    return f"{begin}exec bash {FILES}/{bash.operand(entry)}\n"
