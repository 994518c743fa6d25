"""A priced space -> the best layout for each value of each decision, or why none has that value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from ...dsl.expression import VALUES
from ...dsl.job import Constraint
from ..search.questions import Question
from ..search.sweep import Swept
from ..variables import ORDER
from .answers import Best, ask, condition, loss

GIB = 2**30


@dataclass(frozen=True)
class Alternative:
    """The best predicted layout in which a decision has a value: by what share its first objective is `worse`
    than the best of all, and whether it is the `chosen` one's value. Without a layout, `why` says what
    excludes the value."""

    decision: str
    value: int
    chosen: bool
    best: Best | None
    worse: float | None
    why: str

    @property
    def word(self) -> str | int:
        """The value as the language writes it."""
        words = {number: word for word, number in VALUES.get(self.decision, {}).items()}
        return words.get(self.value, self.value)


def alternatives(swept: Swept, chosen: dict[str, int], best: Best) -> list[Alternative]:
    """An entry for each value of each decision that has several, in the order of `variables.py`."""
    case = swept.space.case
    space = swept.explored.space if swept.explored else swept.space
    asked = [
        (name, value, condition(name, "==", value))
        for name in ORDER
        if len(space.domains[name]) > 1
        for value in space.domains[name]
    ]
    found = ask(swept, [Question("score", (*case.hard, only), time=True) for *_, only in asked])
    missing = [each for each, answer in zip(asked, found, strict=True) if answer is None]
    reasons = iter(_reasons(swept, missing))
    answers = [(answer, "" if answer is not None else next(reasons)) for answer in found]
    return [
        Alternative(
            decision=name,
            value=value,
            chosen=chosen[name] == value,
            best=answer,
            worse=None if answer is None else loss(best.score, answer.score),
            why=why,
        )
        for (name, value, _), (answer, why) in zip(asked, answers, strict=True)
    ]


def _reasons(swept: Swept, missing: Sequence[tuple[str, int, Constraint]]) -> list[str]:
    """Why no layout with a value satisfies the goal, for each decision, value and `require NAME == VALUE`."""
    values = [only for *_, only in missing]
    smallest = ask(
        swept, [Question("memory_kib", (each,), gpu=False, host=False) for each in values]
    )
    running = ask(swept, [Question("score", (each,), time=True) for each in values])
    found = [_unable(swept, *each) for each in zip(smallest, running, strict=True)]
    excluded = [each for each, why in zip(missing, found, strict=True) if not why]
    by = iter(_excluding(swept, excluded))
    return [why or f"excluded by {next(by)}" for why in found]


def _unable(swept: Swept, least: Best | None, fits: Best | None) -> str:
    """Why a value has no layout that runs, given the one with the least memory and the best that fits."""
    case = swept.space.case
    if least is None:
        return f"no such layout keeps {case.target.name}'s rules"
    if least.memory_bytes > case.gpu.memory:
        return f"needs {least.memory_bytes / GIB:,.1f} GiB a GPU at least"
    return "" if fits else "does not fit into GPU and host memory"


def _excluding(swept: Swept, values: Sequence[tuple[str, int, Constraint]]) -> Iterator[str]:
    """The condition that alone excludes every layout with a value, else what all do; of several values of a
    decision first one that excludes all between them."""
    for name, several in groupby(values, key=itemgetter(0)):
        group = list(several)
        least, most = min(value for _, value, _ in group), max(value for _, value, _ in group)
        between = (condition(name, ">=", least), condition(name, "<=", most))
        shared = _alone(swept, between) if len(group) > 1 else None
        for *_, only in group:
            yield shared or _alone(swept, (only,)) or "the goal's conditions together"


def _alone(swept: Swept, values: tuple[Constraint, ...]) -> str | None:
    """The first condition that alone excludes every layout with the values that fits."""
    hard = swept.space.case.hard
    answers = ask(swept, [Question("score", (*values, each), time=True) for each in hard])
    alone = (each for each, found in zip(hard, answers, strict=True) if found is None)
    return next((f"`{each.kind} {each.text}`" for each in alone), None)
