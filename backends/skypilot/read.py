"""A task of SkyPilot -> its facts, and those that a plan's task states."""

from collections.abc import Iterator, Mapping

from ...compiler.plan import Plan
from ...dsl.inputs.documents import yaml_nodes
from ...reading.bash.source import file_source
from ...reading.bash.values import Word
from ...reading.facts import Fact, Kind, LaunchConfig, Value
from ...reading.skypilot import accelerators, nodes
from ...reading.yaml_tree import Tree, number_in
from ..kubernetes.names import name
from .names import settings


def read(files: Mapping[str, str]) -> LaunchConfig:
    """The facts of tasks: machines and their GPUs, and how often a failed one is started again."""
    found = [fact for path, text in files.items() for fact in _facts(path, text)]
    facts = {fact.name: fact for fact in found}
    return LaunchConfig(Kind(scheduler="skypilot"), tuple(facts.values()), ())


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that `read(emit(plan, entry))` gives back."""
    return {
        "job_name": name(plan),
        "nodes": plan.layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "max_restarts": settings(plan.job).restarts,
    }


def _facts(path: str, text: str) -> Iterator[Fact]:
    source = file_source(path, text)
    for node in yaml_nodes(text):
        task = Tree(source, node)
        for fact, counted in (("nodes", nodes(task)), ("gpus_per_node", accelerators(task))):
            if counted is not None:
                yield Fact(fact, counted[0], *_place(counted[1]))
        if (said := task.get("name")) is not None:
            yield Fact("job_name", str(said.text), *_place(said.word))
        restarts = task.get("resources", "job_recovery", "max_restarts_on_errors")
        if restarts is not None:
            yield Fact("max_restarts", number_in(restarts.word.pieces), *_place(restarts.word))


def _place(word: Word) -> tuple[str, int, int]:
    return word.path, word.line, word.column
