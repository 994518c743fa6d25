"""Settings of `launch skypilot` that SkyPilot would refuse, and files that are lost with its machines."""

import re
from collections.abc import Iterator

from ...compiler.plan import Plan
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from ..languages import sbatch
from .names import gpu, runs_folder, settings, volume

GPU = "PAR679"
NAME = "PAR680"
VOLUME = "PAR681"
LOST = "PAR682"
MANUAL = "https://docs.skypilot.co/en/latest/reference/yaml-spec.html"

#: Code -> (short name, title), for `parc rules`.
CODES = {
    GPU: ("skypilot-gpu", "a GPU whose name in SkyPilot is not known"),
    NAME: ("skypilot-name", "a name that SkyPilot refuses"),
    VOLUME: ("skypilot-volume", "a volume that SkyPilot cannot mount"),
    LOST: ("rented-disk", "checkpoints that end with the machine that writes them"),
}
#: SkyPilot 0.14, sky/task.py: _VALID_NAME_REGEX.
_NAME = re.compile(r"[a-zA-Z0-9]+(?:[._-]{1,2}[a-zA-Z0-9]+)*")
#: A name in SkyPilot's catalogs, of GPUs or of clouds and what is in them.
_WORD = re.compile(r"[A-Za-z0-9][\w./:@*-]*")


def problems(job: Job) -> list[Diagnostic]:
    """Settings that SkyPilot's parser would refuse, or take for something else."""
    return [*_gpu_problems(job), *_name_problems(job), *_volume_problems(job)]


def warnings(plan: Plan) -> Iterator[Diagnostic]:
    """A run that saves where nothing outlives its machines."""
    if plan.job.saves(plan.target) and runs_folder(plan.job) is None:
        message = "no volume is mounted: checkpoints end with their machine"
        help = '`volumes = ["NAME:/runs"]`, a volume or a bucket that all nodes can write'
        yield Diagnostic(LOST, message, plan.job.span("launch"), "warning", help=help)


def _gpu_problems(job: Job) -> Iterator[Diagnostic]:
    if gpu(job) is None:
        message = f"parc does not know SkyPilot's name of `{job.cluster.gpu.name}`"
        help = "`accelerators`, a name that `sky gpus list --all` prints"
        yield Diagnostic(GPU, message, job.span("launch"), help=help)


def _name_problems(job: Job) -> Iterator[Diagnostic]:
    launch = settings(job)
    if launch.job_name is not None and not _NAME.fullmatch(launch.job_name):
        message = f"`job_name` is not a name that SkyPilot accepts: `{launch.job_name}`"
        help = "letters and digits, with single dots, dashes or underscores between them"
        yield Diagnostic(NAME, message, job.span("launch", "job_name"), help=help)
    for key in ("infra", "accelerators", "image"):
        value = getattr(launch, key)
        if value is not None and not _WORD.fullmatch(value):
            message = f"`{key}` is empty, or has characters that a name cannot have: `{value}`"
            yield Diagnostic(NAME, message, job.span("launch", key))
    if launch.accelerators is not None and ":" in launch.accelerators:
        message = f"`accelerators` states a count of GPUs, as `gpus_per_node` does: `{launch.accelerators}`"
        help = f"`{launch.accelerators.partition(':')[0]}`"
        yield Diagnostic(NAME, message, job.span("launch", "accelerators"), help=help)


def _volume_problems(job: Job) -> Iterator[Diagnostic]:
    span, paths = job.span("launch", "volumes"), []
    for text in settings(job).volumes:
        source, path = volume(text)
        if not _WORD.fullmatch(source) or not _is_path(path):
            help = "`NAME:/path` of a volume, or `s3://BUCKET:/path`"
            yield Diagnostic(VOLUME, f"`{text}` is not a volume and its path", span, help=help)
        elif path.rstrip("/") in paths:
            yield Diagnostic(VOLUME, f"two volumes at `{path}`", span, help="a path for each")
        paths.append(path.rstrip("/"))
    runs = settings(job).runs
    if runs is not None and not _is_path(runs):
        message = f"`runs` is not a plain absolute path: `{runs}`"
        yield Diagnostic(VOLUME, message, job.span("launch", "runs"), help="a path such as /runs")


def _is_path(path: str) -> bool:
    return (
        path.startswith("/")
        and not path.startswith("//")  # of an address without a path
        and path.strip("/") != ""
        and sbatch.holds(path)
        and not {"..", "$"} & {*path.split("/"), *path}
    )
