"""A priced space -> the best layout for each value of each decision, or why none has that value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    missing = [only for (*_, only), answer in zip(asked, found, strict=True) if answer is None]
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


def _reasons(swept: Swept, values: Sequence[Constraint]) -> list[str]:
    """Why no layout with a value satisfies the goal, for each `require NAME == VALUE`."""
    smallest = ask(
        swept, [Question("memory_kib", (each,), gpu=False, host=False) for each in values]
    )
    running = ask(swept, [Question("score", (each,), time=True) for each in values])
    return [
        _reason(swept, each, least, fits)
        for each, least, fits in zip(values, smallest, running, strict=True)
    ]


def _reason(swept: Swept, value: Constraint, least: Best | None, fits: Best | None) -> str:
    case = swept.space.case
    if least is None:
        return f"no such layout keeps {case.target.name}'s rules"
    if least.memory_bytes > case.gpu.memory:
        return f"needs {least.memory_bytes / GIB:,.1f} GiB a GPU at least"
    if fits is None:
        return "does not fit into GPU and host memory"
    return f"excluded by {_excluding(swept, value)}"


def _excluding(swept: Swept, value: Constraint) -> str:
    """The condition that alone excludes every layout with a value that fits, else what all do."""
    hard = swept.space.case.hard
    questions = [Question("score", (value, each), time=True) for each in hard]
    alone = [
        f"{each.kind} {each.text}"
        for each, found in zip(hard, ask(swept, questions), strict=True)
        if found is None
    ]
    return f"`{alone[0]}`" if alone else "the goal's conditions together"
