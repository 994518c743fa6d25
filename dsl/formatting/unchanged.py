"""Two texts -> whether they say the same: equal trees but for places, equal comments."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_args

from ..diagnostics import JobError, Source, Span
from ..syntax.tree import Clause, File, Node, Number, Statement
from ..units import measure

_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|(#[^\n]*)')


def comments(text: str) -> list[str]:
    """The comments of a text in order, without the space at their ends."""
    return [match[1].rstrip() for match in _COMMENT.finditer(text) if match[1] is not None]


def same(one: File, other: File) -> bool:
    """Whether two trees differ in places only, or in how a number is spelled; without recursion."""
    waiting: list[tuple[object, object]] = [(one.statements, other.statements)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, tuple) and isinstance(right, tuple):
            if len(left) != len(right):
                return False
            waiting.extend(zip(left, right, strict=True))
        elif isinstance(left, Number) and isinstance(right, Number):
            if left.text != right.text and _value(left) != _value(right):
                return False
        elif names := _SAID.get(type(left)):
            waiting.extend((getattr(left, name), getattr(right, name)) for name in names)
        elif left != right:
            return False
    return True


#: The fields of each kind of node that are no places.
_SAID = {
    kind: tuple(field.name for field in fields(kind) if field.name not in ("span", "head"))
    for kind in (*get_args(Node), *get_args(Statement), Clause)
}


def _value(number: Number) -> object:
    try:
        return measure(number.text, Span(Source("", number.text), 0, len(number.text)))
    except JobError:
        return number.text.split()
