"""A manifest -> the facts of its job, and those that a plan's manifest states."""

from collections.abc import Iterator, Mapping

from ...compiler.plan import Plan
from ...dsl.inputs.documents import yaml_nodes
from ...reading.bash.source import file_source
from ...reading.bash.values import Word
from ...reading.facts import Fact, Kind, LaunchConfig, Value, whole
from ...reading.kubernetes.manifest import pods_of
from ...reading.yaml_tree import Tree
from .names import name, operator_of, settings
from .pod import grace_seconds

#: Kinds of objects that make pods -> where they say how often they are started again.
_RESTARTS = {
    "JobSet": ("failurePolicy", "maxRestarts"),
    "TrainingRuntime": ("template", "spec", "failurePolicy", "maxRestarts"),
    "PyTorchJob": ("runPolicy", "backoffLimit"),
    "RayJob": ("backoffLimit",),
}
_OPERATORS = {
    "JobSet": "jobset",
    "TrainJob": "trainjob",
    "PyTorchJob": "pytorchjob",
    "RayJob": "rayjob",
}


def read(files: Mapping[str, str]) -> LaunchConfig:
    """The facts of manifests: pods and their GPUs, how long they may save, how often they are started."""
    found = [fact for path, text in files.items() for fact in _facts(path, text)]
    facts = {fact.name: fact for fact in found}
    return LaunchConfig(Kind(scheduler="kubernetes"), tuple(facts.values()), ())


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that `read(emit(plan, entry, files))` gives back."""
    launch = settings(plan.job)
    return {
        "job_name": name(plan),
        "operator": operator_of(plan.job),
        "nodes": plan.layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "max_restarts": launch.restarts,
        "signal": grace_seconds(plan),
    }


def _facts(path: str, text: str) -> Iterator[Fact]:
    for pods in pods_of(path, text):
        for fact, counted in (("nodes", pods.count), ("gpus_per_node", pods.gpus)):
            if counted is not None:
                yield Fact(fact, counted[0], *_place(counted[1]))
    source = file_source(path, text)
    for node in yaml_nodes(text):
        root = Tree(source, node)
        kind, spec = root.get("kind"), root.get("spec")
        word = "" if kind is None else str(kind.text)
        if spec is None or kind is None:
            continue
        if word in _OPERATORS:
            yield Fact("operator", _OPERATORS[word], *_place(kind.word))
            yield from _texts(root, "job_name", "metadata", "name")
        if word in _RESTARTS:
            yield from _numbers(spec, "max_restarts", *_RESTARTS[word])
            yield from _grace(spec)


def _grace(spec: Tree) -> Iterator[Fact]:
    """The first grace period below a job, wherever its kind has the template of its pods."""
    jobs = [*spec.all("replicatedJobs"), *spec.all("template", "spec", "replicatedJobs")]
    pods = [job.get("template", "spec", "template", "spec") for _, job in jobs]
    roles = [*spec.all("pytorchReplicaSpecs"), *spec.all("rayClusterSpec", "workerGroupSpecs")]
    pods += [role.get("template", "spec") for _, role in roles]
    for pod in pods:
        if pod is not None:
            yield from _numbers(pod, "signal", "terminationGracePeriodSeconds")


def _numbers(tree: Tree, fact: str, *path: str) -> Iterator[Fact]:
    said = tree.get(*path)
    number = None if said is None else whole(str(said.text))
    if said is not None and number is not None:
        yield Fact(fact, number, *_place(said.word))


def _texts(tree: Tree, fact: str, *path: str) -> Iterator[Fact]:
    said = tree.get(*path)
    if said is not None:
        yield Fact(fact, str(said.text), *_place(said.word))


def _place(word: Word) -> tuple[str, int, int]:
    return word.path, word.line, word.column
