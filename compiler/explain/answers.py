"""A priced space -> the best layouts under other conditions: rows of a sweep, or found again by bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ...dsl.diagnostics import Source, Span
from ...dsl.expression import Call, Const, Name
from ...dsl.job import Constraint
from ..case import Case
from ..search.best_first import BestFirst, explored
from ..search.questions import Question
from ..search.space import Space
from ..search.sweep import Swept, objectives, score
from ..variables import ORDER


@dataclass(frozen=True)
class Best:
    """The layout that answers a question: every decision by name, its first objective in base units and as
    the integer that is minimised, and bytes on its fullest GPU."""

    layout: Mapping[str, int]
    value: float
    score: int
    memory_bytes: int


def priced(case: Case) -> Swept:
    """The space that `search/planning.py:plan` chooses from."""
    return explored(Space(case))


def ask(swept: Swept, questions: Sequence[Question]) -> list[Best | None]:
    """The answer to each question; None where no layout is asked for."""
    known = _answered(swept, questions)
    return [_best(known, question) for question in questions]


def only(swept: Swept, question: Question) -> Best:
    """The answer to a question that some layout satisfies."""
    (found,) = ask(swept, [question])
    if found is None:
        raise LookupError("no layout satisfies the conditions")
    return found


def _answered(swept: Swept, questions: Sequence[Question]) -> Swept:
    if swept.explored is None:
        return swept
    search = BestFirst(swept.explored.space, priced=swept.explored.priced)
    by_aim = sorted(questions, key=lambda question: question.of)
    for _, same in groupby(by_aim, key=lambda question: question.of):
        search.answer(list(same))
    return search.result()


def _best(swept: Swept, question: Question) -> Best | None:
    rows = np.flatnonzero(question.met(swept))
    if not len(rows):
        return None
    return best_at(swept, int(rows[np.argmin(question.values(swept)[rows])]))


def best_at(swept: Swept, row: int) -> Best:
    """A row of a sweep."""
    case = swept.space.case
    values = np.broadcast_to(swept.values[quantity_of(case)], swept.feasible.shape)
    return Best(
        layout={name: int(swept.space.layouts[name][row]) for name in ORDER},
        value=float(values[row]),
        score=int(score(objectives(case)[0], swept)[row]),
        memory_bytes=int(swept.prices.memory_kib[row]) * 1024,
    )


def quantity_of(case: Case) -> str:
    """The quantity of the first objective."""
    return objectives(case)[0].quantity


def condition(name: str, operator: str, value: float) -> Constraint:
    """`require NAME OPERATOR VALUE`, as if the goal said it."""
    text = f"{name} {operator} {value:g}"
    expression = Call(operator, (Name(name), Const(value)))
    return Constraint("require", expression, Span(Source("explain", text), 0, len(text)))


def loss(least: int, other: int) -> float:
    """By what share an objective, as the integer that is minimised, is worse than the least."""
    return (other - least) / abs(least) if least else float(other > least)
