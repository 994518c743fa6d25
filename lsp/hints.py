"""Hints that an editor shows beside the text of a job, where the text does not say it: the values of
expressions, sizes in bytes, parameters of the model, GPUs of the cluster, and what an alias of the standard
library names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..backends import OPTIONS
from ..compiler.model import parameters
from ..dsl.check import loads
from ..dsl.diagnostics import JobError
from ..dsl.evaluation.evaluate import Constant, evaluate
from ..dsl.job import Job
from ..dsl.syntax.tree import Block, Identifier, Let, Node, Number, Setting, Text
from ..dsl.units import Measure, dimension
from .document import Document
from .meanings import shown, std_entry
from .places import places

_BYTES = dimension("B")


@dataclass(frozen=True)
class Hint:
    """A text that stands behind the character `offset`."""

    offset: int
    text: str


def hints(document: Document) -> list[Hint]:
    """All of a document, in its order; those about the whole job only while it is sound."""
    try:
        job = loads(document.text, document.path, (), OPTIONS)
    except JobError:
        job = None
    return sorted(_all(document, job), key=lambda hint: hint.offset)


def _all(document: Document, job: Job | None) -> Iterator[Hint]:
    yield from _named(document)
    for statement in document.file.statements:
        if isinstance(statement, Let):
            yield from _value(document, statement.value)
        elif isinstance(statement, Block) and statement.kind.name != "goal":
            for item in statement.items:
                if isinstance(item, Setting):
                    yield from _value(document, item.value)
            if job is not None:
                yield from _of_job(statement, job)


def _value(document: Document, node: Node) -> Iterator[Hint]:
    """The value of an expression, and the bytes of a size that is written in another unit."""
    if isinstance(node, Text | Identifier):
        return
    try:
        value = evaluate(node, document.scope.lookup)
    except JobError:
        return
    if text := _text(node, value):
        yield Hint(node.span.end, f" = {text}")


def _text(node: Node, value: Constant) -> str | None:
    if isinstance(value, Measure) and value.dimension == _BYTES:
        said = isinstance(node, Number) and node.text.rstrip("B").strip().isdigit()
        return None if said or value.value % 1 else f"{int(value.value):,} B"
    return None if isinstance(node, Number) or not isinstance(value, Measure) else shown(value)


def _of_job(block: Block, job: Job) -> Iterator[Hint]:
    if block.kind.name == "model":
        yield Hint(block.head.end, f" {_counted(parameters.total(job.model))} parameters")
    elif block.kind.name == "cluster":
        found = (each for each in block.items if isinstance(each, Setting))
        nodes = next((each for each in found if each.key.name == "nodes"), None)
        counts = [count * job.cluster.gpus_per_node for count in job.cluster.nodes]
        ends = dict.fromkeys((min(counts), max(counts)))
        gpus = " to ".join(f"{count:,}" for count in ends)
        yield Hint(nodes.value.span.end if nodes else block.head.end, f" {gpus} GPUs")


def _counted(number: int) -> str:
    unit, size = next(
        (each for each in (("T", 1e12), ("B", 1e9), ("M", 1e6)) if number >= each[1]), ("", 1)
    )
    return f"{number / size:.3g} {unit}".strip()


def _named(document: Document) -> Iterator[Hint]:
    """The entry of the standard library that is named by one of its other names."""
    for place in places(document.file):
        entry = std_entry(document, place) if place.role in ("base", "use") else None
        if entry and place.word.removeprefix("std.") != entry.name:
            yield Hint(place.span.end, f" std.{entry.name}")
