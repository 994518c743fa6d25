"""Values of expressions of a Python module: a constant, an object with attributes, or unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..facts import Unknown


@dataclass(frozen=True)
class Symbol:
    """A name that another module defines, as it is called there: `nl.MegatronStrategy`, `torch.bfloat16`."""

    name: str

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def is_class(self) -> bool:
        """By the convention of names; a class's object holds what it is given, else the class's defaults."""
        return self.last[:1].isupper()


@dataclass(frozen=True)
class Function:
    """A function of this module."""

    node: ast.FunctionDef


@dataclass(eq=False)
class Tree:
    """An object that a call made: its attributes with their places.

    `head` is the last part of the name of what made it. `rest` says why an attribute that is not here is
    unknown; None where the object of a class has that class's default.
    """

    head: str
    line: int
    column: int
    rest: Unknown | None = None
    values: dict[str, Placed] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    """Attributes that were assigned: the others are arguments of the call."""

    def put(self, name: str, value: Placed) -> None:
        self.values[name] = value
        self.assigned.add(name)

    def below(self) -> Iterator[Tree]:
        """This object and those that it holds, each once."""
        left: list[PythonValue] = [self]
        seen = {id(self)}
        while left:
            value = left.pop()
            if isinstance(value, Tree):
                yield value
            for each in _inside(value):
                if id(each) not in seen:
                    seen.add(id(each))
                    left.append(each)

    def forget(self, reason: Unknown) -> None:
        """Something may have changed whatever this object holds."""
        for tree in list(self.below()):
            tree.rest = reason
            for name, placed in tree.values.items():
                if not isinstance(placed.value, Tree):
                    tree.values[name] = Placed(reason, placed.line, placed.column)


PythonValue: TypeAlias = (
    "bool | int | float | str | None | Unknown | Symbol | Function | Tree | list[Placed] | dict[str, Placed]"
)


@dataclass(frozen=True)
class Placed:
    """A value and where it is written, counted from 1."""

    value: PythonValue
    line: int
    column: int


def equal(one: Placed, two: Placed) -> bool:
    """Whether two values are the same; of collections, whether they are one: what they hold is not compared,
    as a short text makes two that are alike and without end."""
    plain = (bool, int, float, str, type(None), Unknown, Symbol)
    same = type(one.value) is type(two.value)
    return one.value is two.value or (
        same and isinstance(one.value, plain) and one.value == two.value
    )


def _inside(value: PythonValue) -> Iterator[PythonValue]:
    """The objects and collections that one holds itself."""
    held: Iterable[Placed] = ()
    if isinstance(value, Tree):
        held = value.values.values()
    elif isinstance(value, dict):
        held = value.values()
    elif isinstance(value, list):
        held = value
    yield from (each.value for each in held if isinstance(each.value, Tree | dict | list))
