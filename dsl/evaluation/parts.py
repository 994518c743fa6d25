"""The parts of a job as far as they could be built, which checks of consistency read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..diagnostics import Diagnostic, Note, Span
from ..hardware import Cluster
from ..job import Train
from ..model import Model


@dataclass(frozen=True)
class Parts:
    """The parts of a job that could be built; `span` finds a setting in the text, `given` if it is there.
    `training` is what the training is called: a stage has a name."""

    model: Model | None
    cluster: Cluster | None
    train: Train | None
    span: Callable[..., Span | None]
    given: Callable[..., bool]
    training: str = "`train`"


Complaints = Iterator[Diagnostic]


def note(parts: Parts, text: str, *path: str) -> tuple[Note, ...]:
    return (Note(text, parts.span(*path)),) if parts.given(*path) else (Note(text),)
