"""The operations of a condition on plain numbers, with numpy's answers where Python raises: 1 / 0 is
infinite, 0 / 0 and the logarithm of -1 are no number, a power that is too large is infinite."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce


def apply(op: str, operands: Sequence[float]) -> float:
    """The value of one operation of `expression.Call`; `min` and `max` take any number of operands."""
    if op in _FOLDS:
        return reduce(_FOLDS[op], operands)
    return _OPERATIONS[op](*operands)


def _times(left: float, right: float) -> float:
    """As numbers with a point, lest a long product of whole ones outgrows them."""
    return float(left) * float(right)


def _least(left: float, right: float) -> float:
    return math.nan if math.isnan(left) or math.isnan(right) else min(left, right)


def _largest(left: float, right: float) -> float:
    return math.nan if math.isnan(left) or math.isnan(right) else max(left, right)


def _over(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) * math.copysign(1, right) if left else math.nan


def _floor_over(left: float, right: float) -> float:
    if right:
        return left // right
    return 0 if isinstance(left, int) and isinstance(right, int) else _over(left, right)


def _remainder(left: float, right: float) -> float:
    if right:
        return left % right
    return 0 if isinstance(left, int) and isinstance(right, int) else math.nan


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        return math.nan if base else math.inf


def _log2(value: float) -> float:
    if value > 0:
        return math.log2(value)
    return math.nan if value else -math.inf


def _whole(to: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(to(value)) if math.isfinite(value) else value


_FOLDS: dict[str, Callable[[float, float], float]] = {"min": _least, "max": _largest}
_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": operator.add, "-": operator.sub, "*": _times, "/": _over, "//": _floor_over,
    "%": _remainder, "**": _power, "neg": operator.neg, "log2": _log2,
    "ceil": _whole(math.ceil), "floor": _whole(math.floor),
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "not": operator.not_,
    "and": lambda left, right: bool(left) and bool(right),
    "or": lambda left, right: bool(left) or bool(right),
}  # fmt: skip
