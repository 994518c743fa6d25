"""SkyPilot's names of a cluster's GPUs, and where a volume is mounted."""

from ...compiler.plan import Plan
from ...dsl.job import Job
from ...dsl.launchers import SkyPilot
from ..run_folder import mounted_runs

#: GPUs of the standard library, as SkyPilot 0.14 spells them (sky/utils/gpu_names.py; the last two by its
#: catalogs of clouds, sky/catalog/data_fetchers). A bare A100 has 40 GB, a bare V100 16.
GPUS = {
    "v100_16": "V100",
    "v100_32": "V100-32GB",
    "a100_40": "A100",
    "a100_80": "A100-80GB",
    "l40s": "L40S",
    "h100_sxm": "H100",
    "h200": "H200",
    "gh200": "GH200",
    "b200": "B200",
    "gb200": "GB200",
    "b300": "B300",
    "gb300": "GB300",
    "rtx4090": "RTX4090",
    "mi300x": "MI300X",
}


def settings(job: Job) -> SkyPilot:
    """The settings of the job's launch, which is SkyPilot's."""
    if not isinstance(job.launch, SkyPilot):
        raise TypeError("the job is launched by something else")
    return job.launch


def gpu(job: Job) -> str | None:
    """SkyPilot's name of the GPU; None where neither the job nor the library says it."""
    return settings(job).accelerators or GPUS.get(job.cluster.gpu.name)


def volume(text: str) -> tuple[str, str]:
    """A mount's source, a volume or the address of a bucket, and its path; each empty where there is none."""
    source, _, path = text.rpartition(":")
    return source, path


def runs_folder(job: Job) -> str | None:
    """Where the folders of runs are on each node; None where nothing outlives it."""
    launch = settings(job)
    return mounted_runs(launch.runs, [volume(each)[1] for each in launch.volumes])


def run_dir(plan: Plan) -> str | None:
    folder = runs_folder(plan.job)
    return folder and f"{folder}/{plan.run.folder}"
