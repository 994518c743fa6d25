"""The text of a Python module -> the objects that it makes as a program, or that its functions return."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...dsl.inputs.documents import python_module
from ...dsl.inputs.files import OverLimit, TooLarge
from ..facts import Unknown
from . import statements
from .machine import Frame, Machine, placed
from .values import Function, Placed, Tree

#: Longer modules are not read.
LONGEST = 200_000


@dataclass(frozen=True)
class Made:
    """Objects that one way through a module makes: a function called `name`, or the program itself ("").

    `calls` are the functions of the module that its text calls, whether this way goes there or not.
    """

    name: str
    trees: tuple[Tree, ...]
    calls: frozenset[str] = frozenset()


def made_by(text: str) -> Iterator[Made]:
    """Yields the objects made by the module as a program, then by each top-level function with its defaults.

    Raises `SyntaxError` for what is no Python, `ValueError` for what is too long or does too much.
    """
    if len(text) > LONGEST:
        raise TooLarge(len(text), LONGEST)
    module = python_module(text)
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    options = dict(_options(module)) if "add_argument" in text else {}
    try:
        machine = Machine(functions, options, statements.follow)
        statements.run(module.body, Frame(machine, machine.names))
        yield Made("", tuple(machine.trees))
        for name, node in functions.items():
            own = Machine(functions, options, statements.follow, dict(machine.names))
            statements.follow(own, Function(node), (), {})
            yield Made(name, tuple(own.trees), frozenset(_called(node) & functions.keys()))
    except RecursionError:
        raise OverLimit("it is nested too deep") from None


def _called(function: ast.FunctionDef) -> set[str]:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def _options(module: ast.Module) -> Iterator[tuple[str, Placed]]:
    """The defaults of `add_argument("--tp-size", default=8)` by attribute; without one it is unknown."""
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        match call:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[*names]):
                flags = [each.value for each in names if isinstance(each, ast.Constant)]
                texts = [each for each in flags if isinstance(each, str)]
                name = next((each for each in texts if each.startswith("--")), *texts[:1] or [""])
                keywords = {each.arg: each.value for each in call.keywords}
                attribute = name.lstrip("-").replace("-", "_")
                match keywords.get("dest"):
                    case ast.Constant(value=str() as attribute):
                        pass
                match keywords.get("default"):
                    case ast.Constant(value=bool() | int() | float() | str() as default) as node:
                        yield attribute, placed(default, node)
                    case _:
                        reason = Unknown(f"`{name}` is given on the command line")
                        yield attribute, placed(reason, call)
