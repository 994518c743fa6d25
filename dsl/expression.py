"""A user's condition after names, units and `let`s are resolved: a tree over decisions and quantities.

`evaluation/goal.py` builds it, the compiler evaluates it over arrays or posts it to the solver.
Every constant is a plain number in base units (bytes, seconds, $ and so on); `full`, `none`, ... have
become numbers (`VALUES`), and `memory <= 92%` has become bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from . import plain_arithmetic
from .arrays import np

#: What a goal may decide on.
VARIABLES = (
    "tp", "pp", "vpp", "cp", "ep", "etp", "dp", "dp_replicate", "dp_shard", "zero",
    "micro_batch", "microbatches", "recompute", "recompute_layers", "offload", "hpz",
    "order", "schedule", "nodes", "gpus",
)  # fmt: skip

#: What a goal may measure, with the dimension a bound on it must have (`units.py` spells dimensions so).
QUANTITIES = {
    "memory": "B", "mfu": "1", "hfu": "1", "step_time": "s", "tokens_per_second": "1/s",
    "days": "s", "cost": "$", "energy": "J", "bubble": "1", "risk": "1",
}  # fmt: skip

#: What each of them measures, in words.
MEANINGS = {
    "memory": "bytes on the fullest rank; a percentage is of the GPU's memory",
    "mfu": "share of peak that model FLOP reach",
    "hfu": "as mfu, with recomputed FLOP",
    "step_time": "time of one optimizer step",
    "tokens_per_second": "tokens trained per second by all GPUs",
    "days": "time to train `tokens` or `steps`; a time, such as `30 d`",
    "cost": "price of all GPUs for that time",
    "energy": "of all GPUs and what surrounds them, for that time",
    "bubble": "share of the step that pipeline stages wait",
    "risk": "probability to run out of memory",
}

#: Decisions that an objective may count: the fewest are best, and among those the fastest layout.
COUNTED = ("gpus", "nodes")

#: Words for the values of a variable, in the order in which goals compare them. Layouts hold their numbers: a
#: new word takes the next one.
VALUES: dict[str, dict[str, int]] = {
    "recompute": {"none": 0, "selective": 1, "fine": 3, "moe": 4, "full": 2},
    "offload": {"none": 0, "optimizer": 1, "all": 2},
    "order": {"1f1b": 0, "gpipe": 1, "interleaved_zb": 2, "zbv": 3, "dualpipev": 4},
    "schedule": {
        "1f1b": 0,
        "interleaved": 1,
        "gpipe": 2,
        "interleaved_zb": 3,
        "zbv": 4,
        "dualpipev": 5,
    },
}


@dataclass(frozen=True)
class Const:
    value: float


@dataclass(frozen=True)
class Name:
    """A decision variable or a quantity."""

    name: str


@dataclass(frozen=True)
class Call:
    """`op` is one of + - * / // % ** neg min max ceil floor log2 == != < <= > >= and or not."""

    op: str
    args: tuple[Expression, ...]


@dataclass(frozen=True)
class Member:
    """`item in {values}`; a range is written out, `negated` is `not in`."""

    item: Expression
    values: tuple[float, ...]
    negated: bool = False


Expression = Const | Name | Call | Member

#: Each operation as a function of numpy, by its name there.
ARRAYS: dict[str, str] = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide",
    "%": "mod", "**": "power", "neg": "negative", "ceil": "ceil", "floor": "floor", "log2": "log2",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal",
    ">": "greater", ">=": "greater_equal", "not": "logical_not",
    "and": "logical_and", "or": "logical_or",
}  # fmt: skip
_FOLDS = {"min": "minimum", "max": "maximum"}


def names(expression: Expression) -> frozenset[str]:
    """The variables and quantities that an expression contains."""
    match expression:
        case Name(name):
            return frozenset({name})
        case Call(_, args):
            return frozenset().union(*map(names, args))
        case Member(item):
            return names(item)
    return frozenset()


def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:
    """The value of an expression: a number, or an array where names are arrays.

    `values` maps each name to a number or to an array, all of one shape.
    """
    match expression:
        case Const(value):
            return value
        case Name(name):
            return values[name]
        case Member(item, members, negated):
            return np.isin(evaluate(item, values), members, invert=negated)
        case Call(op, args):
            operands = [evaluate(arg, values) for arg in args]
            if op in _FOLDS:
                return reduce(getattr(np, _FOLDS[op]), operands)
            with np.errstate(divide="ignore", invalid="ignore"):
                return getattr(np, ARRAYS[op])(*operands)


def evaluate_number(expression: Expression, values: Mapping[str, float]) -> float:
    """`evaluate` of plain numbers, without an array: what a few values cost less to try."""
    match expression:
        case Const(value):
            return value
        case Name(name):
            return values[name]
        case Member(item, members, negated):
            return (evaluate_number(item, values) in members) != negated
        case Call(op, args):
            return plain_arithmetic.apply(op, [evaluate_number(arg, values) for arg in args])
