"""State of following a module: its functions, the objects that were made, and the budget that is left."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...dsl.inputs.files import OverLimit
from ..facts import Unknown
from .values import Function, Placed, PythonValue, Symbol, Tree

#: Statements that are followed, objects that are made, and functions within functions.
MOST_STATEMENTS, MOST_TREES, DEEPEST = 20_000, 4_000, 12
#: Objects that are put by at branches, each time that one is.
MOST_COPIES = 500_000
#: Expressions that are evaluated, one within another once for each time that it is asked for.
MOST_EXPRESSIONS = 300_000


class Bounded(OverLimit):
    """The module does more than is followed."""


Follow = Callable[["Machine", Function, Sequence[Placed], Mapping[str, Placed]], Placed]


@dataclass
class Machine:
    """The state of following one module. `options` are the defaults of its command line, by attribute."""

    functions: Mapping[str, ast.FunctionDef]
    options: Mapping[str, Placed]
    follow: Follow
    names: dict[str, Placed] = field(default_factory=dict)
    """What the module's top level has assigned."""
    trees: list[Tree] = field(default_factory=list)
    statements: int = 0
    copies: int = 0
    expressions: int = 0
    depth: int = 0

    def step(self) -> None:
        self.statements += 1
        if self.statements > MOST_STATEMENTS:
            raise Bounded(f"it does more than {MOST_STATEMENTS:,} statements")

    def evaluate(self) -> None:
        self.expressions += 1
        if self.expressions > MOST_EXPRESSIONS:
            raise Bounded(f"it evaluates more than {MOST_EXPRESSIONS:,} expressions")

    def put_by(self) -> None:
        """All objects are copied at a branch."""
        self.copies += len(self.trees)
        if self.copies > MOST_COPIES:
            raise Bounded("it has too many branches for the objects that it makes")

    def tree(self, head: str, node: ast.AST, rest: Unknown | None = None) -> Tree:
        """A new object that stands where `node` does."""
        made = Tree(head, *place_of(node), rest)
        self.trees.append(made)
        if len(self.trees) > MOST_TREES:
            raise Bounded(f"it makes more than {MOST_TREES:,} objects")
        return made


@dataclass
class Frame:
    """One function's local names, or the module's own."""

    machine: Machine
    names: dict[str, Placed]

    def name(self, node: ast.Name) -> Placed:
        found = self.names.get(node.id) or self.machine.names.get(node.id)
        if found is not None:
            return found
        if node.id in self.machine.functions:
            return placed(Function(self.machine.functions[node.id]), node)
        return placed(Symbol(node.id), node)


def place_of(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1


def placed(value: PythonValue, node: ast.AST) -> Placed:
    return Placed(value, *place_of(node))
