"""All that an answer to a job needs to know of its layouts: questions, each for the layouts with the least of
something among those that satisfy conditions, and which blocks may hold such a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from ...dsl.expression import QUANTITIES, Call, Expression, Name, evaluate, names
from ...dsl.job import Constraint
from .. import risk
from ..algebra import Array, Integers, Mask
from ..case import LIKELY_TO_FIT, Case
from ..pricing.quantities import INVERSE, per_step
from .bounds import Least, within
from .goal_constraints import FLIPPED
from .sweep import (
    Swept,
    objectives,
    satisfied,
    score,
)

#: Rows that an answer to the whole goal looks at: `doubt.CONTENDERS`.
CONTENDERS = 128


@dataclass(frozen=True)
class Question:
    """The `keep` layouts with the least `of`, or with `any` one of those, that satisfy the constraints, and
    where `gpu`, `host` and `time` say so, fit into the GPU's and the host's memory and end a step in time.
    """

    of: Literal["score", "memory_kib", "host_kib", "step_ns"]
    constraints: tuple[Constraint, ...] = ()
    gpu: bool = True
    host: bool = True
    time: bool = False
    keep: int = 1
    any: bool = False

    @property
    def of_time(self) -> bool:
        """Whether it asks about the time of a step, itself or in a constraint or the first objective."""
        return self.of in ("score", "step_ns") or self.time or bool(self.constraints)

    def values(self, swept: Swept) -> Integers:
        """The value that is minimised, by layout."""
        if self.of == "score":
            return score(objectives(swept.space.case)[0], swept)
        return np.asarray(getattr(swept.prices, self.of))

    def met(self, swept: Swept) -> Mask:
        """Which layouts are asked for."""
        prices = swept.prices
        least = Least(prices.step_ns, prices.step_ns, prices.memory_kib, prices.host_kib)
        limits = within(swept.space.case, least, self.gpu, self.host, self.time)
        hard = [satisfied(each, swept.values) for each in self.constraints]
        return np.broadcast_to(reduce(np.logical_and, hard, limits), prices.step_ns.shape)

    def may_be_met(self, block: BlockBounds) -> Mask:
        """Which blocks may hold a layout that is asked for."""
        limits = within(block.case, block.least, self.gpu, self.host, self.time)
        return reduce(np.logical_and, map(block.may_satisfy, self.constraints), limits)


def of_plan(case: Case) -> list[Question]:
    """The questions of a plan: the best layouts, and what each hard constraint and the memory cost."""
    whole = Question("score", case.hard, time=True, keep=CONTENDERS)
    without = [
        Question("score", tuple(other for other in case.hard if other is not each))
        for each in case.hard
    ]
    return [whole, *without, Question("score", case.hard, gpu=False, host=False)]


def of_refusal(case: Case) -> list[Question]:
    """The questions of the reasons why there is no layout: the least that any layout takes, and what runs."""
    given = tuple(each for each in case.hard if each is not LIKELY_TO_FIT)
    return [
        Question("memory_kib", gpu=False, host=False),
        Question("host_kib", host=False),
        Question("step_ns"),
        Question("score", time=True),
        Question("memory_kib", given),
    ]


def any_of(constraints: Sequence[Constraint], memory: bool) -> Question:
    """Whether a layout satisfies constraints, and where `memory` says so fits."""
    return Question("score", tuple(constraints), memory, memory, time=True, any=True)


class BlockBounds:
    """Blocks with their bounds, and which of them may satisfy a constraint."""

    def __init__(self, case: Case, blocks: Mapping[str, Integers], least: Least):
        self.case = case
        self.least = least
        self._blocks = blocks
        self._met: dict[int, Mask] = {}

    def may_satisfy(self, constraint: Constraint) -> Mask:
        """Which blocks may hold a layout that satisfies a hard constraint."""
        if id(constraint) not in self._met:
            able, unable = self._truths(constraint.expression)
            self._met[id(constraint)] = unable if constraint.kind == "forbid" else able
        return self._met[id(constraint)]

    def _truths(self, expression: Expression) -> tuple[Mask, Mask]:
        """Where an expression may be true, and where it may be false."""
        everywhere = np.ones(len(self.least.step_ns), dtype=bool)
        if names(expression) <= self._blocks.keys():
            found = np.asarray(evaluate(expression, self._blocks), dtype=bool)
            found = np.broadcast_to(found, everywhere.shape)
            return found, ~found
        match expression:
            case Call("not", (inner,)):
                able, unable = self._truths(inner)
                return unable, able
            case Call("and" | "or" as op, args):
                parts = [self._truths(each) for each in args]
                true, false = ([part[end] for part in parts] for end in (0, 1))
                both, either = np.logical_and.reduce, np.logical_or.reduce
                return (both(true), either(false)) if op == "and" else (either(true), both(false))
            case Call(op, (Name(name), bound)) if self._comparable(op, name, bound):
                return self._may_hold(name, op, bound), everywhere
            case Call(op, (bound, Name(name))) if self._comparable(op, name, bound):
                return self._may_hold(name, FLIPPED[op], bound), everywhere
        return everywhere, everywhere

    def _comparable(self, op: str, name: str, bound: Expression) -> bool:
        known = names(bound) <= self._blocks.keys()
        return op in FLIPPED and name in QUANTITIES and name not in ("hfu", "bubble") and known

    def _may_hold(self, name: str, op: str, bound: Expression) -> Mask:
        """Where a limit on a quantity may hold: one that falls as a step takes longer is at most its value in
        the shortest step, others are at least theirs."""
        reachable = ">" if name in INVERSE else "<"
        if not op.startswith(reachable):
            return np.ones(len(self.least.step_ns), dtype=bool)
        truth = evaluate(Call(op, (Name(name), bound)), {**self._blocks, name: self._best(name)})
        return np.broadcast_to(np.asarray(truth, dtype=bool), self.least.step_ns.shape)

    def _best(self, name: str) -> Array:
        """The quantity at the bounds."""
        case, memory = self.case, self.least.memory_kib * 1024
        if name == "memory":
            return memory
        if name == "risk":
            return risk.out_of_memory_each(
                memory.astype(float), case.gpu.memory, case.target.memory_spread
            )
        step_ns = np.maximum(self.least.step_ns, 1)
        return per_step(case, self._blocks["gpus"], step_ns)[name]
