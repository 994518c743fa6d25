"""A text of manifests -> its groups of pods: how many, the GPUs of each, and what their containers run.

Job, JobSet, Pod, Volcano's Job, Kubeflow's PyTorchJob, MPIJob and TrainJob, and KubeRay's RayJob; other kinds
start no training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from ...dsl.inputs.documents import yaml_nodes
from ..bash.source import file_source
from ..bash.values import Text, Word
from ..facts import Unknown
from ..yaml_tree import Tree, number_in

Number = int | Unknown
#: A number with its place.
Counted = tuple[Number, Word]
#: Resources of a container that are whole GPUs.
GPUS = ("nvidia.com/gpu", "amd.com/gpu")
_OPEN = Unknown("it is set when the pod starts", nonempty=True)


@dataclass(frozen=True)
class Container:
    """A container's command: its words, the variables that the manifest sets, and where ConfigMaps are."""

    words: tuple[Word, ...]
    environment: Mapping[str, Text]
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pods:
    """Pods of one kind in a job. `count` are all pods of the job that have GPUs as these do, None where the
    manifest does not say it; `gpus` those of each. `spec` is the job's, for what its operator sets.
    """

    kind: str
    spec: Tree
    count: Counted | None
    gpus: Counted | None
    containers: tuple[Container, ...]


_KIND = re.compile(
    r"""^kind:\s*["']?(?:(PyTorchJob|TrainJob|MPIJob)|Job|JobSet|Pod|RayJob)["']?\s*(?:\#.*)?$""",
    re.MULTILINE,
)
#: What tells that a job of Kubernetes' own kinds trains.
_TRAINS = re.compile(
    r"(?:nvidia|amd)\.com/gpu|\btorchrun\b|torch\.distributed|\bdeepspeed\b|\baccelerate\b"
)


def is_manifest(text: str) -> bool:
    """Whether a YAML holds a job of Kubernetes that may train; a template of Helm is no YAML yet."""
    if "apiVersion:" not in text or "{{" in text or "{%" in text:
        return False
    kinds = list(_KIND.finditer(text))
    trains = any(kind[1] for kind in kinds) or _TRAINS.search(text) is not None
    return bool(kinds) and trains


def pods_of(path: str, text: str) -> Iterator[Pods]:
    """The groups of pods in a text. Raises `ValueError` for what is no YAML."""
    source = file_source(path, text)
    for node in yaml_nodes(text):
        root = Tree(source, node)
        kind, spec = root.get("kind"), root.get("spec")
        name = str(kind.text) if kind is not None else ""
        version = root.get("apiVersion")
        if version is not None and str(version.text).startswith("batch.volcano.sh/"):
            name = "Volcano"
        if spec is not None and name in _READERS:
            yield from _READERS[name](spec)


def _pytorch(spec: Tree) -> Iterator[Pods]:
    """Master and workers run the same job; an elastic one has as many workers as there are."""
    roles = [role for _, role in spec.all("pytorchReplicaSpecs")]
    count = None if spec.get("elasticPolicy") is not None else _sum(roles, "replicas")
    for role in roles:
        yield from _templated("PyTorchJob", spec, role.get("template"), count)


def _mpi(spec: Tree) -> Iterator[Pods]:
    """The launcher's command starts the processes of the workers, which have the GPUs."""
    worker = spec.get("mpiReplicaSpecs", "Worker")
    launcher = spec.get("mpiReplicaSpecs", "Launcher", "template")
    if worker is None or launcher is None or spec.get("runLauncherAsWorker") is not None:
        return
    count, template = _sum([worker], "replicas"), worker.get("template", "spec")
    gpus = _gpus(template) if template is not None else None
    for pods in _templated("MPIJob", spec, launcher, count):
        yield Pods(pods.kind, spec, count, gpus, pods.containers)


def _train_job(spec: Tree) -> Iterator[Pods]:
    """Pods of a TrainJob by its own settings; its runtime, which is elsewhere, has the rest."""
    trainer = spec.get("trainer")
    if trainer is None:
        return
    nodes, resources = trainer.get("numNodes"), trainer.get("resourcesPerNode", "limits")
    count = None if nodes is None else (number_in(nodes.word.pieces), nodes.word)
    gpus = None if resources is None else _named(resources)
    yield Pods("TrainJob", spec, count, gpus, (_container(trainer),))


def _job(spec: Tree) -> Iterator[Pods]:
    yield from _templated("Job", spec, spec.get("template"), _parallel(spec))


def _parallel(spec: Tree) -> Counted | None:
    """The pods that run at once: `parallelism`, of which there are no more than `completions`."""
    given = [spec.get(name) for name in ("parallelism", "completions")]
    words = [each.word for each in given if each is not None]
    if not words:
        return None
    numbers = [number_in(word.pieces) for word in words]
    if any(number != numbers[0] for number in numbers):
        return Unknown("`parallelism` and `completions` differ"), words[0]
    return numbers[0], words[0]


def _job_set(spec: Tree) -> Iterator[Pods]:
    for _, job in spec.all("replicatedJobs"):
        inner = job.get("template", "spec")
        if inner is None:
            continue
        count, replicas = _parallel(inner), job.get("replicas")
        if replicas is not None and replicas.text != "1":
            each = 1 if count is None else count[0]
            count = _times(number_in(replicas.word.pieces), each), replicas.word
        yield from _templated("JobSet", spec, inner.get("template"), count)


def _times(one: Number, two: Number) -> Number:
    if isinstance(one, Unknown) or isinstance(two, Unknown):
        return one if isinstance(one, Unknown) else two
    return one * two


def _volcano(spec: Tree) -> Iterator[Pods]:
    tasks = [task for _, task in spec.all("tasks")]
    with_gpus = [task for task in tasks if _task_gpus(task) is not None] or tasks
    count = _sum(with_gpus, "replicas")
    gpus = _task_gpus(with_gpus[0]) if with_gpus else None
    for task in tasks:
        for pods in _templated("Volcano", spec, task.get("template"), count):
            yield Pods(pods.kind, spec, count, pods.gpus or gpus, pods.containers)


def _task_gpus(task: Tree) -> Counted | None:
    template = task.get("template", "spec")
    return None if template is None else _gpus(template)


def _ray_job(spec: Tree) -> Iterator[Pods]:
    """The command runs once, on the head, whatever starts its parts on the workers, which have the GPUs."""
    entry, workers = spec.get("entrypoint"), spec.all("rayClusterSpec", "workerGroupSpecs")
    groups = [group for _, group in workers]
    with_gpus = [each for each in groups if _task_gpus(each) is not None] or groups
    if entry is None or not with_gpus:
        return
    count, gpus = _sum(with_gpus, "replicas"), _task_gpus(with_gpus[0])
    shell = (Word((entry.word.origin._replace(text=text),)) for text in ("bash", "-c"))
    yield Pods("RayJob", spec, count, gpus, (Container((*shell, entry.word), {}),))


def _pod(spec: Tree) -> Iterator[Pods]:
    yield Pods("Pod", spec, None, _gpus(spec), _containers(spec))


_READERS: dict[str, Callable[[Tree], Iterator[Pods]]] = {
    "PyTorchJob": _pytorch,
    "MPIJob": _mpi,
    "TrainJob": _train_job,
    "Job": _job,
    "JobSet": _job_set,
    "Volcano": _volcano,
    "RayJob": _ray_job,
    "Pod": _pod,
}


def _templated(
    kind: str, spec: Tree, template: Tree | None, count: Counted | None
) -> Iterator[Pods]:
    inner = None if template is None else template.get("spec")
    if inner is not None:
        yield Pods(kind, spec, count, _gpus(inner), _containers(inner))


def _sum(roles: list[Tree], name: str) -> Counted | None:
    """The replicas of all roles, one where a role does not say it."""
    total: Number = 0
    place: Word | None = None
    for role in roles:
        said = role.get(name)
        number = 1 if said is None else number_in(said.word.pieces)
        place = said.word if said is not None else place
        total = number if isinstance(number, Unknown) else total
        total = (
            total if isinstance(number, Unknown) or isinstance(total, Unknown) else total + number
        )
    return None if place is None else (total, place)


def _gpus(pod: Tree) -> Counted | None:
    """GPUs of a pod: the limit of the container that has one; two that have are added by nobody here."""
    limits = [each.get("resources", "limits") for _, each in pod.all("containers")]
    found = [gpus for each in limits if each is not None and (gpus := _named(each))]
    if len(found) > 1:
        return Unknown("several containers of the pod have GPUs"), found[0][1]
    return found[0] if found else None


def _named(limits: Tree) -> Counted | None:
    said = next((each for name in GPUS if (each := limits.get(name)) is not None), None)
    return None if said is None else (number_in(said.word.pieces), said.word)


def _containers(pod: Tree) -> tuple[Container, ...]:
    maps = {_text(each, "name") for _, each in pod.all("volumes") if each.get("configMap")}
    return tuple(_container(each, maps) for _, each in pod.all("containers"))


def _container(tree: Tree, maps: Collection[str] = ()) -> Container:
    """`maps` are the names of the volumes that are ConfigMaps."""
    words = [each.word for name in ("command", "args") for _, each in tree.all(name)]
    mounts = [each for _, each in tree.all("volumeMounts") if _text(each, "name") in maps]
    files = (path for each in mounts if (path := _text(each, "mountPath").rstrip("/")))
    return Container(tuple(words), dict(_environment(tree)), tuple(files))


def _text(tree: Tree, name: str) -> str:
    said = tree.get(name)
    return said.text if said is not None and isinstance(said.text, str) else ""


def _environment(tree: Tree) -> Iterator[tuple[str, Text]]:
    for _, each in tree.all("env"):
        name, value = each.get("name"), each.get("value")
        if name is None or not isinstance(name.text, str):
            continue
        if value is not None:
            yield name.text, value.word.pieces
        elif (other := each.get("valueFrom")) is not None:
            place = other.word.pieces[0]
            yield name.text, (place._replace(text=_OPEN),)
