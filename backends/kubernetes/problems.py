"""Settings of `launch kubernetes` that Kubernetes would refuse, and files that are lost with a pod."""

import re
from collections.abc import Iterator, Mapping

from ...compiler.plan import Plan
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from ..languages import sbatch
from .names import LABEL, LONGEST_JOB, name, runs_folder, settings, volume

NAME = "PAR626"
SIZE = "PAR627"
VOLUME = "PAR628"
SCHEDULING = "PAR629"
LOST = "PAR630"
MANUAL = "https://kubernetes.io/docs/reference/kubernetes-api/"

#: Code -> (short name, title), for `parc rules`.
CODES = {
    NAME: ("kubernetes-name", "a name that Kubernetes refuses"),
    SIZE: ("configmap-size", "files that are too large for a ConfigMap"),
    VOLUME: ("kubernetes-volume", "a volume that a pod cannot mount"),
    SCHEDULING: ("kubernetes-scheduling", "settings of scheduling that exclude or need each other"),
    LOST: ("pod-without-volume", "checkpoints that end with the pod that writes them"),
}
#: Of all values of a ConfigMap (k8s.io/api core/v1: MaxSecretSize, which validation of ConfigMaps asks too).
LARGEST_CONFIG_MAP = 1024 * 1024
#: A key of a label or a resource: a name, behind a domain or not.
_KEY = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?"
)
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?")


def problems(plan: Plan, files: Mapping[str, str]) -> list[Diagnostic]:
    """Settings that the API server would refuse; `files` are those of the ConfigMap, by their names."""
    job = plan.job
    return [
        *_name_problems(plan),
        *_key_problems(job),
        *_volume_problems(job),
        *_scheduling_problems(job),
        *_size_problems(plan, files),
    ]


def warnings(plan: Plan) -> Iterator[Diagnostic]:
    """A run that saves where nothing outlives its pods."""
    if plan.job.saves(plan.target) and runs_folder(plan.job) is None:
        message = "no volume is mounted: checkpoints end with their pod"
        help = '`volumes = ["CLAIM:/runs"]`, a claim that all pods can write'
        span = plan.job.span("launch")
        yield Diagnostic(LOST, message, span, "warning", help=help)


def _name_problems(plan: Plan) -> Iterator[Diagnostic]:
    job, launch = plan.job, settings(plan.job)
    if launch.job_name is not None and not _is_label(launch.job_name, LONGEST_JOB):
        message = f"`job_name` is not a Kubernetes name of at most {LONGEST_JOB} characters"
        yield Diagnostic(NAME, message, job.span("launch", "job_name"), help=_LABELS)
    for key in ("namespace", "queue", "service_account", "pull_secret", "priority"):
        value = getattr(launch, key)
        if value is not None and not _is_label(value):
            message = f"`{key}` is not a Kubernetes name: `{value}`"
            yield Diagnostic(NAME, message, job.span("launch", key), help=_LABELS)
    for secret in launch.secrets:
        if not _is_label(secret):
            message = f"an entry of `secrets` is not a Kubernetes name: `{secret}`"
            yield Diagnostic(NAME, message, job.span("launch", "secrets"), help=_LABELS)
    if not sbatch.holds(launch.image) or " " in launch.image:
        message = "`image` is empty, or holds a space or a control character"
        yield Diagnostic(NAME, message, job.span("launch", "image"))


_LABELS = "lower-case letters, digits and dashes, with a letter or a digit at both ends"


def _is_label(text: str, longest: int = 63) -> bool:
    return len(text) <= longest and LABEL.fullmatch(text) is not None


def _key_problems(job: Job) -> Iterator[Diagnostic]:
    """Labels of nodes, taints and resources, whose names may have a domain in front."""
    launch = settings(job)
    keys = [("rdma", launch.rdma), ("topology", launch.topology)]
    keys += [("node_selector", key) for key in launch.node_selector]
    keys += [("tolerations", key) for key in launch.tolerations]
    for setting, key in keys:
        if key is not None and not _KEY.fullmatch(key):
            message = f"`{setting}` has no key of a label or resource: `{key}`"
            yield Diagnostic(NAME, message, job.span("launch", setting), help="such as `rdma/ib`")
    for key, value in launch.node_selector.items():
        if isinstance(value, str) and not _VALUE.fullmatch(value):
            message = f"`{key}` cannot be `{value}`: not a valid value of a label"
            yield Diagnostic(NAME, message, job.span("launch", "node_selector"))


def _volume_problems(job: Job) -> Iterator[Diagnostic]:
    span, paths = job.span("launch", "volumes"), []
    for text in settings(job).volumes:
        source, path = volume(text)
        known = source.startswith("/") or _is_label(source)
        if not known or not _is_path(path):
            help = "`CLAIM:/path`, or `/path/of/the/node:/path`"
            yield Diagnostic(VOLUME, f"`{text}` is not a volume and its path", span, help=help)
        elif path.rstrip("/") in ("", "/parc", "/dev/shm") or path.startswith("/parc/"):
            message = f"a volume at `{path}` hides a folder that every pod needs"
            yield Diagnostic(VOLUME, message, span, help="another path")
        elif path in paths:
            yield Diagnostic(VOLUME, f"two volumes at `{path}`", span, help="a path for each")
        paths.append(path)
    runs = settings(job).runs
    if runs is not None and not any(f"{runs}/".startswith(f"{path}/") for path in paths):
        message = f"`runs` is not on a volume: `{runs}`"
        help = "a path on one of `volumes`"
        yield Diagnostic(VOLUME, message, job.span("launch", "runs"), help=help)


def _is_path(path: str) -> bool:
    """Whether a container can have something mounted there (k8s.io/api core/v1: a path without `:`)."""
    return path.startswith("/") and ":" not in path and path.isprintable() and ".." not in path


def _scheduling_problems(job: Job) -> Iterator[Diagnostic]:
    launch = settings(job)
    if launch.queue and launch.gang:
        message = "`queue` and `gang` both start all pods at once"
        help = "one of them"
        yield Diagnostic(SCHEDULING, message, job.span("launch", "gang"), help=help)
    if launch.topology and not launch.queue:
        message = "`topology` needs Kueue, and the job sets no `queue`"
        help = "`queue`, the name of a LocalQueue"
        yield Diagnostic(SCHEDULING, message, job.span("launch", "topology"), help=help)
    if launch.rdma is None and launch.rdma_count > 1:
        message = "`rdma_count` has no effect without `rdma`"
        help = "`rdma`, such as rdma/ib"
        yield Diagnostic(SCHEDULING, message, job.span("launch", "rdma_count"), help=help)


def _size_problems(plan: Plan, files: Mapping[str, str]) -> Iterator[Diagnostic]:
    size = sum(len(text.encode()) for text in files.values())
    if size > LARGEST_CONFIG_MAP:
        message = (
            f"the files of `{name(plan)}` take {size:,} bytes, a ConfigMap {LARGEST_CONFIG_MAP:,}"
        )
        help = "fewer or shorter `env` and `extra`"
        yield Diagnostic(SIZE, message, plan.job.span("launch"), help=help)
