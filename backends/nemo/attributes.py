"""An object of configuration -> its attributes by dotted name, with the defaults of NeMo's own classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...dsl.inputs.budget import Visits
from ...reading.facts import Unknown
from ...reading.python.values import Function, Placed, PythonValue, Symbol, Tree
from ...reading.yaml_settings import Scalar

#: Objects in objects that are followed.
DEEPEST = 12
#: Characters of a name that counts as two.
LONG_NAME = 50
#: What recipes' functions call the trainer's shape and degrees (nemo/collections/llm/recipes).
_SHAPE = {
    "num_nodes": "trainer.num_nodes",
    "num_gpus_per_node": "trainer.devices",
    "tensor_parallelism": "trainer.strategy.tensor_model_parallel_size",
    "pipeline_parallelism": "trainer.strategy.pipeline_model_parallel_size",
    "virtual_pipeline_parallelism": "trainer.strategy.virtual_pipeline_model_parallel_size",
    "context_parallelism": "trainer.strategy.context_parallel_size",
    "expert_parallelism": "trainer.strategy.expert_model_parallel_size",
    "sequence_parallelism": "trainer.strategy.sequence_parallel",
}
#: Class -> what its object has where nothing is given (nemo/lightning/pytorch/strategies/megatron_strategy.py
#: of NeMo 2.0 to 2.5; lightning's trainer).
DEFAULTS: Mapping[str, Mapping[str, int | bool | None]] = {
    "MegatronStrategy": {
        "tensor_model_parallel_size": 1,
        "pipeline_model_parallel_size": 1,
        "context_parallel_size": 1,
        "expert_model_parallel_size": 1,
        "virtual_pipeline_model_parallel_size": None,
        "sequence_parallel": False,
    },
    "Trainer": {"num_nodes": 1},
}


@dataclass(frozen=True)
class Attribute:
    """One attribute; `argument` where a function of another module was given it, which may set it or not."""

    name: str
    placed: Placed
    argument: bool = False

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


def attributes(tree: Tree, visits: Visits) -> Iterator[Attribute]:
    """Every attribute below an object; what a function was given counts only where nothing else says it.

    An object that several others hold is visited for each of them. Raises `OverLimit`.
    """
    every = [*_below(tree, "trainer." if tree.head == "Trainer" else "", DEEPEST, visits)]
    said = {each.last for each in every if not each.argument}
    yield from (each for each in every if not (each.argument and each.last in said))


def _below(tree: Tree, prefix: str, deepest: int, visits: Visits) -> Iterator[Attribute]:
    if not deepest:
        return
    visits.spend(1 + len(tree.values) * (1 + len(prefix) // LONG_NAME))
    own = DEFAULTS.get(tree.head, {}) if tree.rest is None else {}
    for name, default in own.items():
        if name not in tree.values:
            yield Attribute(f"{prefix}{name}", Placed(default, tree.line, tree.column))
    for name, placed in tree.values.items():
        given = bool(tree.head) and tree.rest is not None and name not in tree.assigned
        if isinstance(placed.value, Tree):
            yield from _below(placed.value, f"{prefix}{name}.", deepest - 1, visits)
        elif given:
            yield Attribute(_SHAPE.get(name, f"{prefix}{name}"), placed, argument=True)
        else:
            yield Attribute(f"{prefix}{name}", placed)


def scalars(path: str, found: Iterable[Attribute]) -> Iterator[Scalar]:
    """The attributes as values of a YAML are read."""
    for each in found:
        text, quoted, unknown = _text(each.placed.value)
        yield Scalar(each.name, text, quoted, path, each.placed.line, each.placed.column, unknown)


def _text(value: PythonValue) -> tuple[str, bool, Unknown | None]:
    match value:
        case None:
            return "null", False, None
        case bool():
            return str(value).lower(), False, None
        case int() | float():
            return str(value), False, None
        case str():
            return value, True, None
        case Symbol(name=name):
            return name, True, None
        case Unknown():
            return "", False, value
        case Function(node=node):
            return node.name, True, None
    return "", False, Unknown("it is made of several values")
