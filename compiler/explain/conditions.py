"""A priced space -> the conditions that bind its best layout, and what a step of each would buy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from ...dsl.expression import Call, Const, Name
from ...dsl.job import Constraint
from ..algebra import Array
from ..case import LIKELY_TO_FIT
from ..search.goal_constraints import FLIPPED
from ..search.questions import Question
from ..search.sweep import Swept, host_capacity_kib, objectives, score
from .answers import Best, ask, best_at, condition, loss

GIB = 2**30
#: Share by which an objective must improve to count as better where floating-point numbers are compared.
BETTER = 1e-9


@dataclass(frozen=True)
class Step:
    """The least change of a limit that lets a better layout in: the limit of `name` in base units, that
    layout, and the share by which its first objective is better."""

    name: str
    limit: float
    best: Best
    gain: float


@dataclass(frozen=True)
class Binding:
    """A condition that excludes better layouts: its text, where it stands, the best layout without it, the
    share by which that is better, and the first `step` towards it where the condition is one limit.
    """

    text: str
    place: str
    best: Best
    gain: float
    step: Step | None


def bindings(swept: Swept, best: Best) -> list[Binding]:
    """The conditions of the goal, the GPU's and the host's memory, each alone: those that bind."""
    cases = list(_cases(swept))
    found = ask(swept, [question for _, _, question, _ in cases])
    return [
        Binding(
            text=text,
            place=place,
            best=without,
            gain=-loss(best.score, without.score),
            step=_step(swept, question, limit, best) if limit else None,
        )
        for (text, place, question, limit), without in zip(cases, found, strict=True)
        if without is not None and without.score < best.score
    ]


#: The name of what a condition limits, and whether from above.
Limit = tuple[str, bool]


def _cases(swept: Swept) -> Iterator[tuple[str, str, Question, Limit | None]]:
    """Each condition: its text, its place, the question without it, and what it limits."""
    case = swept.space.case
    for dropped in case.hard:
        others = tuple(each for each in case.hard if each is not dropped)
        question = Question("score", others, time=True)
        yield f"{dropped.kind} {dropped.text}", _place(dropped), question, limit_of(dropped)
    gpu = f"GPU memory of {case.gpu.memory / GIB:.1f} GiB"
    yield gpu, "", Question("score", case.hard, gpu=False, time=True), ("memory", True)
    host = f"host memory of {host_capacity_kib(case) / 2**20:.1f} GiB a GPU"
    yield host, "", Question("score", case.hard, host=False, time=True), ("host_memory", True)


def _place(constraint: Constraint) -> str:
    if constraint is LIKELY_TO_FIT:
        return "the default"
    return f"{PurePath(constraint.span.source.name).name}:{constraint.span.line}"


def limit_of(constraint: Constraint) -> Limit | None:
    """The quantity that a constraint limits, where it compares one name with one number."""
    match constraint.expression:
        case Call(operator, (Name(name), Const())) if operator in ("<", "<=", ">", ">="):
            upper = operator.startswith("<")
        case Call(operator, (Const(), Name(name))) if operator in ("<", "<=", ">", ">="):
            upper = FLIPPED[operator].startswith("<")
        case _:
            return None
    return name, upper != (constraint.kind == "forbid")


def _step(swept: Swept, without: Question, limit: Limit, best: Best) -> Step | None:
    name, upper = limit
    if swept.explored is None:
        return _step_of_rows(swept, without, name, upper, best)
    if name not in ("memory", "risk"):
        return None
    objective = objectives(swept.space.case)[0]
    larger = objective.direction == "maximize"
    margin = abs(best.value) * BETTER
    better = condition(
        objective.quantity,
        ">" if larger else "<",
        best.value + margin if larger else best.value - margin,
    )
    question = Question(
        "memory_kib", (*without.constraints, better), without.gpu, without.host, without.time
    )
    (found,) = ask(swept, [question])
    if found is None:
        return None
    value = found.memory_bytes if name == "memory" else _risk(swept, found)
    return Step(name, value, found, -loss(best.score, found.score))


def _risk(swept: Swept, found: Best) -> float:
    from .. import risk

    case = swept.space.case
    return risk.out_of_memory(found.memory_bytes, case.gpu.memory, case.target.memory_spread)


def _step_of_rows(
    swept: Swept, without: Question, name: str, upper: bool, best: Best
) -> Step | None:
    scores = score(objectives(swept.space.case)[0], swept)
    rows = np.flatnonzero(without.met(swept) & (scores < best.score))
    values = _limited(swept, name)[rows]
    nearest = values.min() if upper else values.max()
    rows = rows[values == nearest]
    found = best_at(swept, int(rows[np.argmin(scores[rows])]))
    return Step(name, float(nearest), found, -loss(best.score, found.score))


def _limited(swept: Swept, name: str) -> Array:
    """The quantity that a limit is on, by layout, in base units."""
    if name == "host_memory":
        return np.asarray(swept.prices.host_kib * 1024)
    return np.broadcast_to(swept.values[name], swept.feasible.shape)
