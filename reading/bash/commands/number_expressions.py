"""Expressions of numbers, as `bc`, `expr`, `awk` and `python -c` compute them -> their values."""

import ast
import math
import operator
from collections.abc import Callable

_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "int": int,
    "round": round,
    "max": max,
    "min": min,
    "ceil": math.ceil,
    "floor": math.floor,
}


def calculate(text: str, whole: bool = False) -> float | None:
    """The value of an expression of numbers, None for anything else; the text is parsed, never evaluated."""
    if len(text) > 300:
        return None
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body, whole)
    except (ValueError, ArithmeticError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return value


def _value(node: ast.expr, whole: bool) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if abs(number) < 1e30:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, whole)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _OPERATIONS:
            one, two = _value(left, whole), _value(right, whole)
            if whole and isinstance(kind, ast.Div):
                return int(one / two)
            return _OPERATIONS[type(kind)](one, two)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
            return _FUNCTIONS.get(name, _no_function)(*(_value(item, whole) for item in arguments))
    raise ValueError("it is not arithmetic")


def _no_function(*numbers: float) -> float:
    raise ValueError("it is not a function of numbers")
