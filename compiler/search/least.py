"""A goal that nothing meets -> the least that its limits on days, cost and energy could be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...dsl.diagnostics import Note
from ...dsl.expression import Call, Const, Name
from ...dsl.job import Constraint, Goal, Objective
from ..case import Case
from .best_first import explored
from .bounds import TooManyBlocks
from .goal_constraints import FLIPPED
from .layout_text import layout_text, quantity_text
from .space import Space

#: Quantities that say how large a job must be.
OF_SIZE = ("days", "cost", "energy")


def least_possible(case: Case, clashing: Sequence[Constraint]) -> Iterator[Note]:
    """For each upper limit among the clashing conditions: the least of that quantity where all other
    conditions hold, and on how many nodes; nothing where they cannot all hold even so."""
    for constraint in clashing:
        name = limited(constraint)
        if name is None:
            continue
        try:
            found = explored(Space(_asking(case, name, constraint)))
        except TooManyBlocks:
            continue
        if len(found.by_objective):
            row = int(found.by_objective[0])
            value = float(found.values[name][row])
            layout = layout_text(found.layout(row))
            yield Note(f"the least possible is {quantity_text(name, value)}: {layout}")


def limited(constraint: Constraint) -> str | None:
    """The quantity of OF_SIZE on which a constraint is an upper limit."""
    match constraint.expression:
        case Call(operator, (Name(name), Const())) if operator in FLIPPED:
            pass
        case Call(operator, (Const(), Name(name))) if operator in FLIPPED:
            operator = FLIPPED[operator]
        case _:
            return None
    upper = operator in ("<", "<=") if constraint.kind == "require" else operator in (">", ">=")
    return name if upper and name in OF_SIZE else None


def _asking(case: Case, name: str, without: Constraint) -> Case:
    """The case with the least of a quantity as its goal, under all conditions but one."""
    kept = tuple(each for each in case.job.goal.constraints if each is not without)
    goal = Goal((Objective("minimize", name, without.span),), kept, within=0.0)
    return Case(case.job.model_copy(update={"goal": goal}), case.target)
