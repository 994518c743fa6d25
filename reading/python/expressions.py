"""An expression -> its value, as far as constants, names and objects of configuration decide it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ..facts import Unknown
from . import calls
from .machine import Frame, placed
from .values import Placed, PythonValue, Symbol, Tree, equal

COMPUTED = Unknown("it is computed")
#: Numbers and texts that are longer come from no launch file.
LARGEST = 2**63
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_TESTS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def value(node: ast.expr, frame: Frame) -> Placed:
    """The value of an expression; the place is where a name's value was written."""
    frame.machine.evaluate()
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as constant):
            return placed(constant, node)
        case ast.Name():
            return frame.name(node)
        case ast.Attribute():
            return attribute(value(node.value, frame), node, frame)
        case ast.Call():
            return calls.called(node, frame)
        case ast.List() | ast.Tuple() if not any(isinstance(e, ast.Starred) for e in node.elts):
            return placed([value(each, frame) for each in node.elts], node)
        case ast.Dict():
            return placed(_dict(node, frame), node)
        case ast.IfExp():
            return _chosen(node, frame)
        case ast.Subscript():
            return _item(node, frame)
    return placed(_computed(node, frame), node)


def attribute(base: Placed, node: ast.Attribute, frame: Frame) -> Placed:
    """`base.attr`: of an object whose attributes others have set, an object of which nothing is known."""
    match base.value:
        case Tree() as tree:
            if node.attr in tree.values:
                return tree.values[node.attr]
            if tree.rest is None:
                return placed(Unknown(f"`{node.attr}` is the default of {tree.head}"), node)
            tree.values[node.attr] = placed(frame.machine.tree("", node, tree.rest), node)
            return tree.values[node.attr]
        case Symbol(name=name):
            return placed(Symbol(f"{name}.{node.attr}"), node)
        case Unknown() as unknown:
            return placed(unknown, node)
    return placed(COMPUTED, node)


def truth(node: ast.expr, frame: Frame) -> bool | None:
    """Which way a test goes, None where that is not decided."""
    return _holds(value(node, frame).value)


def _holds(found: PythonValue) -> bool | None:
    if isinstance(found, Unknown | Symbol) or (isinstance(found, Tree) and found.rest is not None):
        return None
    return bool(found)


def _dict(node: ast.Dict, frame: Frame) -> PythonValue:
    found: dict[str, Placed] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        held = value(item, frame)
        name = value(key, frame).value if key is not None else None
        if isinstance(name, str):
            found[name] = held
        elif isinstance(held.value, dict):
            found |= held.value
    return found


def _chosen(node: ast.IfExp, frame: Frame) -> Placed:
    test = truth(node.test, frame)
    if test is not None:
        return value(node.body if test else node.orelse, frame)
    one, two = value(node.body, frame), value(node.orelse, frame)
    return (
        one if equal(one, two) else placed(Unknown("a test chooses it that is not decided"), node)
    )


def _item(node: ast.Subscript, frame: Frame) -> Placed:
    base, index = value(node.value, frame).value, value(node.slice, frame).value
    if isinstance(base, dict) and isinstance(index, str) and index in base:
        return base[index]
    if isinstance(base, list) and isinstance(index, int) and -len(base) <= index < len(base):
        return base[index]
    return placed(base if isinstance(base, Unknown) else COMPUTED, node)


def _computed(node: ast.expr, frame: Frame) -> PythonValue:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(value(left, frame).value, op, value(right, frame).value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            test = truth(operand, frame)
            return COMPUTED if test is None else not test
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _arithmetic(0, ast.Sub(), value(operand, frame).value)
        case ast.BoolOp():
            return _joined(node, frame)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(value(left, frame).value, op, value(right, frame).value)
    return COMPUTED


def _arithmetic(left: PythonValue, op: ast.operator, right: PythonValue) -> PythonValue:
    for each in (left, right):
        if isinstance(each, Unknown):
            return each
        if isinstance(each, bool) or not isinstance(each, int | float) or abs(each) >= LARGEST:
            return COMPUTED
    rule = _ARITHMETIC.get(type(op))
    try:
        found = COMPUTED if rule is None else rule(left, right)
    except ArithmeticError:
        return COMPUTED
    return found if isinstance(found, int | float) else COMPUTED


def _joined(node: ast.BoolOp, frame: Frame) -> PythonValue:
    """`a and b`, `a or b`: the first part that decides, as Python goes."""
    ends = isinstance(node.op, ast.Or)
    found: PythonValue = COMPUTED
    for part in node.values:
        found = value(part, frame).value
        test = _holds(found)
        if test is None:
            return found if isinstance(found, Unknown) else COMPUTED
        if test is ends:
            return found
    return found


def _compared(left: PythonValue, op: ast.cmpop, right: PythonValue) -> PythonValue:
    for each in (left, right):
        if isinstance(each, Unknown):
            return each
    if isinstance(op, ast.In | ast.NotIn):
        return _contained(left, right, isinstance(op, ast.In))
    if left is not None and right is not None and isinstance(op, ast.Is | ast.IsNot):
        return COMPUTED
    plain = (bool, int, float, str, type(None))
    rule = _TESTS.get(type(op))
    if isinstance(left, Tree) and left.rest is None and right is None:
        return isinstance(op, ast.IsNot | ast.NotEq)
    if rule is None or not isinstance(left, plain) or not isinstance(right, plain):
        return COMPUTED
    try:
        return bool(rule(left, right))
    except TypeError:
        return COMPUTED


def _contained(left: PythonValue, right: PythonValue, wanted: bool) -> PythonValue:
    if isinstance(right, dict) and isinstance(left, str):
        return (left in right) is wanted
    if not isinstance(right, list):
        return COMPUTED
    items = [each.value for each in right]
    if any(not isinstance(each, bool | int | float | str | None) for each in [left, *items]):
        return COMPUTED
    return (left in items) is wanted
