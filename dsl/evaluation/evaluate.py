"""Expressions without decisions -> constants: numbers with dimensions, text, true and false, sets, ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .. import codes
from ..diagnostics import Fix, Note, Span, did_you_mean, replaced
from ..report import wrong
from ..syntax.tree import (
    Binary,
    Collection,
    Comparison,
    Function,
    Identifier,
    Map,
    Membership,
    Node,
    Number,
    Range,
    Text,
    Unary,
)
from ..units import NUMBER, Dimension, Measure, alike, example, in_words, measure


@dataclass(frozen=True, slots=True)
class Interval:
    """`low..high`, both ends included."""

    low: Measure
    high: Measure


@dataclass(frozen=True, slots=True)
class Members:
    items: tuple[Constant, ...]


Constant = Measure | bool | str | Interval | Members
Lookup = Callable[[Identifier], Constant]

#: Words that are constants everywhere.
TRUTH = {"true": True, "false": False}
FUNCTIONS = ("min", "max", "ceil", "floor", "log2")
#: Results beyond this have no use in a job, and larger powers would cost time.
_LIMIT = 10.0**100


class Measured(Protocol):
    @property
    def dimension(self) -> Dimension: ...
    @property
    def zero(self) -> bool: ...


def kind_of(constant: Constant) -> str:
    """The kind of a constant's value, in words."""
    match constant:
        case bool():
            return "true or false"
        case str():
            return "text"
        case Interval():
            return "a range"
        case Members():
            return "a set"
    return in_words(constant.dimension)


def evaluate(node: Node, lookup: Lookup) -> Constant:
    """The value of an expression; `lookup` resolves names and raises `JobError` for unknown ones."""
    match node:
        case Number(text, span):
            return measure(text, span)
        case Text(value):
            return value
        case Identifier(name):
            return TRUTH[name] if name in TRUTH else lookup(node)
        case Unary("not", operand):
            return not truth(operand, lookup)
        case Unary(_, operand):
            positive = number(operand, lookup)
            return Measure(-positive.value, positive.dimension)
        case Binary("and" | "or", left, right):
            both = truth(left, lookup), truth(right, lookup)
            return all(both) if node.op == "and" else any(both)
        case Binary(op, left, right):
            return _calculate(op, number(left, lookup), number(right, lookup), node)
        case Comparison():
            return _compared(node, lookup)
        case Membership(item, collection, negated):
            return _contained(node, evaluate(item, lookup), evaluate(collection, lookup)) != negated
        case Range():
            return interval(node, lookup)
        case Collection(_, items):
            return Members(tuple(evaluate(item, lookup) for item in items))
        case Function():
            return _called(node, lookup)
        case Map(_, span):
            raise wrong(codes.MISPLACED, "expected a value, found a block of settings", span)


def number(node: Node, lookup: Lookup) -> Measure:
    value = evaluate(node, lookup)
    if not isinstance(value, Measure):
        raise wrong(codes.WRONG_KIND, f"expected a number, found {kind_of(value)}", node.span)
    return value


def truth(node: Node, lookup: Lookup) -> bool:
    value = evaluate(node, lookup)
    if not isinstance(value, bool):
        raise wrong(codes.WRONG_KIND, f"expected true or false, found {kind_of(value)}", node.span)
    return value


def interval(node: Range, lookup: Lookup) -> Interval:
    low, high = number(node.low, lookup), number(node.high, lookup)
    agree("..", low, high, node.low.span, node.high.span)
    if low.value > high.value:
        message = f"the range {plain(low.value)}..{plain(high.value)} is reversed"
        help = f"write `{node.high.span.text}..{node.low.span.text}`"
        raise wrong(codes.BAD_RANGE, message, node.span, help)
    return Interval(low, high)


def plain(value: int | float) -> str:
    """A number as a person would write it in a message."""
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    return f"{float(value):.6g}".replace("e+", "e")


_VERBS = {"+": "add {1} to {0}", "-": "subtract {1} from {0}", "..": "range from {0} to {1}"}


def agree(op: str, left: Measured, right: Measured, left_span: Span, right_span: Span) -> Dimension:
    """The dimension that two operands share; raises `JobError` when they have none."""
    if left.zero or right.zero:
        return right.dimension if left.zero else left.dimension
    if not alike(left.dimension, right.dimension):
        verb = _VERBS.get(op, "compare {0} with {1}").format(
            in_words(left.dimension), in_words(right.dimension)
        )
        notes = tuple(
            Note(f"`{span.text}` is {in_words(measured.dimension)}")
            for span, measured in ((left_span, left), (right_span, right))
        )
        span = Span(left_span.source, left_span.start, max(left_span.end, right_span.end))
        bare = left.dimension.bare or right.dimension.bare
        help = example(left.dimension * right.dimension) if bare else None
        plain_span = left_span if left.dimension.bare else right_span
        fix = None
        if bare and op in _COMPARE:
            other = right_span if plain_span is left_span else left_span
            measured = str(left.dimension * right.dimension)
            help, fix = _with_unit(plain_span, other, measured) or (help, None)
        raise wrong(codes.WRONG_DIMENSION, f"cannot {verb}", span, help, notes, fix)
    return right.dimension if left.dimension.without_counts() == left.dimension else left.dimension


def _with_unit(span: Span, other: Span, measured: str) -> tuple[str, Fix] | None:
    """The cure of a bare number beside money, days, or bytes, which may be meant as a share of the memory."""
    unit = "$" if measured == "$" else "d" if other.text == "days" else None
    if unit and re.fullmatch(r"[\d._]+[KMG]?", span.text):
        text = f"{span.text} {unit}" if span.text[-1].isdigit() or unit != "$" else f"{span.text}$"
        return f"write `{text}`", replaced(span, text)
    if measured != "B":
        return None
    found = re.fullmatch(r"(0?\.\d{1,2}|\d{1,3})", span.text)
    if found is None or float(found[0]) > 100:
        return None
    percent = float(found[0]) if float(found[0]) > 1 else float(found[0]) * 100
    text = f"{percent:g}%"
    return f"write `{text}` for a share of it, `{span.text} GiB` for bytes", replaced(
        span, text, safe=False
    )


def combined(op: str, left: Measured, right: Measured, node: Binary) -> Dimension:
    """The dimension of an arithmetic operation."""
    if op == "*":
        return left.dimension * right.dimension
    if op in ("/", "//"):
        return left.dimension / right.dimension
    if op == "**":
        for side, span in ((left, node.left.span), (right, node.right.span)):
            if not side.dimension.bare:
                message = f"`**` needs bare numbers, found {in_words(side.dimension)}"
                raise wrong(codes.WRONG_DIMENSION, message, span)
        return NUMBER
    return agree(op, left, right, node.left.span, node.right.span)


def _calculate(op: str, left: Measure, right: Measure, node: Binary) -> Measure:
    measured = combined(op, left, right, node)
    if op in ("/", "//", "%") and right.value == 0:
        raise wrong(codes.ARITHMETIC, "division by zero", node.right.span)
    share = left.share and right.share and op in ("+", "-")
    return Measure(_finite(_OPERATIONS[op], (left.value, right.value), node.span), measured, share)


def _divide(left: int | float, right: int | float) -> int | float:
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _power(base: int | float, exponent: int | float) -> int | float:
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    if whole and exponent * max(1, int(base).bit_length()) <= 400:
        result: int = int(base) ** int(exponent)
        return result
    return math.pow(base, exponent)


_OPERATIONS: dict[str, Callable[..., int | float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": _power,
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
}


def _finite(
    operation: Callable[..., int | float], operands: Sequence[int | float], span: Span
) -> int | float:
    result: int | float = 0
    try:
        result = operation(*operands)
        sound = not isinstance(result, complex) and abs(result) <= _LIMIT
    except (OverflowError, ValueError, ZeroDivisionError):
        sound = False
    if not sound:
        raise wrong(codes.ARITHMETIC, f"`{_short(span)}` has no finite result", span)
    return result


def _short(span: Span) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= 60 else text[:57] + "..."


_COMPARE: dict[str, Callable[[int | float, int | float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _compared(node: Comparison, lookup: Lookup) -> bool:
    values = [evaluate(operand, lookup) for operand in node.operands]
    result = True
    for index, op in enumerate(node.ops):
        pair = node.operands[index], node.operands[index + 1]
        result &= _holds(op, values[index], values[index + 1], pair[0].span, pair[1].span)
    return result


def _holds(op: str, left: Constant, right: Constant, left_span: Span, right_span: Span) -> bool:
    if isinstance(left, Measure) and isinstance(right, Measure):
        agree(op, left, right, left_span, right_span)
        if op in _COMPARE:
            return _COMPARE[op](left.value, right.value)
        return (left.value == right.value) == (op == "==")
    if type(left) is not type(right) or op in _COMPARE:
        message = f"cannot compare {kind_of(left)} with {kind_of(right)} by `{op}`"
        raise wrong(codes.WRONG_KIND, message, left_span.to(right_span))
    return (left == right) == (op == "==")


def _contained(node: Membership, item: Constant, collection: Constant) -> bool:
    spans = node.item.span, node.collection.span
    match collection:
        case Members(items):
            return any(_holds("==", item, member, *spans) for member in items)
        case Interval(low, high):
            return _holds("<=", low, item, *spans) and _holds("<=", item, high, *spans)
    message = f"`in` needs a set or a range, found {kind_of(collection)}"
    raise wrong(codes.WRONG_KIND, message, node.collection.span)


def check_call(node: Function) -> None:
    """Raises `JobError` unless the function exists and takes that many values."""
    name = node.name
    if name not in FUNCTIONS:
        help = did_you_mean(name, FUNCTIONS) or f"functions are {', '.join(FUNCTIONS)}"
        ends = re.fullmatch(r"range\((?:(\d{1,18}), *)?(\d{1,18})\)", node.span.text)
        text = f"{ends[1] or 0}..{int(ends[2]) - 1}" if ends else ""
        help = f"a range has both its ends: `{text}`" if ends else help
        fix = replaced(node.span, text) if ends else None
        raise wrong(codes.UNKNOWN_NAME, f"unknown function `{name}`", node.span, help, fix=fix)
    wanted = "at least 1 value" if name in ("min", "max") else "1 value"
    if not node.args or (len(node.args) > 1 and name not in ("min", "max")):
        message = f"`{name}` takes {wanted}, found {len(node.args)}"
        raise wrong(codes.WRONG_KIND, message, node.span)


def called(node: Function, args: Sequence[Measured]) -> Dimension:
    """The dimension of a function's result."""
    result: Measured = args[0]
    for arg, part in zip(args[1:], node.args[1:], strict=True):
        shared = agree(node.name, result, arg, node.args[0].span, part.span)
        result = Measure(1, shared)
    if node.name == "log2" and not result.dimension.bare:
        message = f"`log2` needs a bare number, found {in_words(result.dimension)}"
        raise wrong(codes.WRONG_DIMENSION, message, node.span)
    return result.dimension


def _called(node: Function, lookup: Lookup) -> Measure:
    check_call(node)
    args = [number(arg, lookup) for arg in node.args]
    values = [arg.value for arg in args]
    operation = _OPERATIONS[node.name]
    if node.name in ("min", "max"):
        chosen: int | float = operation(values)
        return Measure(chosen, called(node, args), all(arg.share for arg in args))
    return Measure(_finite(operation, values, node.span), called(node, args))
