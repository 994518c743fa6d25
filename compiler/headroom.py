"""A goal -> how much memory its layouts may take, and from which risk on a layout has headroom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from ..dsl.diagnostics import Source, Span
from ..dsl.expression import Call, Const, Name, names
from ..dsl.job import Constraint
from . import risk

if TYPE_CHECKING:
    from .case import Case

#: Probability to run out of memory that a plan has at most where its user says nothing of memory.
DEFAULT_RISK = 0.05
#: The share of the risk at the goal's ceiling up to which a layout has headroom. A half takes 7 % of the
#: GPU's memory at the default risk, 5 GiB of 80 GB, and every layout of half the default risk has it.
SPARED = 0.5


def at_most(kind: Literal["require", "prefer"], most: float) -> Constraint:
    """A condition that bounds the risk, as if the goal said it."""
    text = f"risk <= {100 * most:.3g}%"
    expression = Call("<=", (Name("risk"), Const(most)))
    return Constraint(kind, expression, Span(Source("default", text), 0, len(text)))


def headroom(case: Case) -> Constraint | None:
    """The condition that decides between layouts that are about equally good, after the job's preferences;
    None where these, or the objectives, speak of memory themselves, and where the goal gives up nothing.
    """
    goal = case.job.goal
    spoken = {each.quantity for each in goal.objectives}
    spoken = spoken.union(*(names(each.expression) for each in case.preferred))
    if {"memory", "risk"} & spoken or not goal.within:
        return None
    return at_most(
        "prefer", headroom_risk(ceiling_bytes(case), case.gpu.memory, case.target.memory_spread)
    )


def headroom_risk(ceiling_bytes: float, found_bytes: float, spread: float) -> float:
    """Probability to run out of `found_bytes` up to which a layout has headroom, given the most bytes that
    the goal lets it be predicted to need."""
    return SPARED * max(risk.out_of_memory(ceiling_bytes, found_bytes, spread), DEFAULT_RISK)


def ceiling_bytes(case: Case) -> int:
    """Memory limit of a rank: the GPU's, or the lowest upper bound that a constraint of the goal sets."""
    bounds = [memory_bound(constraint, case) for constraint in case.conditions]
    return min([case.gpu.memory, *(bound for bound in bounds if bound is not None)])


def memory_bound(constraint: Constraint, case: Case) -> int | None:
    """The bytes of a GPU to which a constraint limits every rank; None where it is no upper bound on memory
    or risk alone."""
    match constraint.kind, constraint.expression:
        case ("require", Call("<=" | "<", (Name("risk"), Const(value)))) | (
            "forbid",
            Call(">" | ">=", (Name("risk"), Const(value))),
        ):
            found = case.gpu.memory
            return int(min(risk.bytes_at(value, found, case.target.memory_spread), found))
        case ("require", Call("<=", (Name("memory"), Const(value)))) | (
            "forbid",
            Call(">", (Name("memory"), Const(value))),
        ):
            return int(value)
        case ("require", Call("<", (Name("memory"), Const(value)))) | (
            "forbid",
            Call(">=", (Name("memory"), Const(value))),
        ):
            return math.ceil(value) - 1
    return None
