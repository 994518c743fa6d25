"""The syntax tree of a job file: small frozen nodes with spans. Comments are not part of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Source, Span


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its suffix and unit, unread: `80 GiB`."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text, without its quotes and escapes."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name, dotted or not."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """`op` is `-` or `not`."""

    op: str
    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is one of + - * / // % ** and or."""

    op: str
    left: Node
    right: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a <= b < c`: one operator less than operands."""

    operands: tuple[Node, ...]
    ops: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Membership:
    item: Node
    collection: Node
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Range:
    """`low..high`, both ends included."""

    low: Node
    high: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Collection:
    """A set `{1, 2}` or a list `["a", "b"]`; `bracket` is the opening one."""

    bracket: str
    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    args: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Map:
    """`{ name = value; ... }` as a value."""

    settings: tuple[Setting, ...]
    span: Span


Node = (
    Number
    | Text
    | Identifier
    | Unary
    | Binary
    | Comparison
    | Membership
    | Range
    | Collection
    | Function
    | Map
)


@dataclass(frozen=True, slots=True)
class Setting:
    key: Identifier
    value: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Clause:
    """A line of `goal`: `require tp <= 8 : "stay in the node"`. `condition.span` leaves the reason out."""

    keyword: Identifier
    condition: Node
    reason: Text | None
    span: Span


@dataclass(frozen=True, slots=True)
class Block:
    """`kind name from base { items }`. `head` is everything before the brace."""

    kind: Identifier
    name: Identifier | None
    base: Identifier | None
    items: tuple[Setting | Clause, ...]
    head: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Let:
    name: Identifier
    value: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Import:
    path: Text
    span: Span


Statement = Import | Let | Block | Setting


@dataclass(frozen=True, slots=True)
class File:
    source: Source
    statements: tuple[Statement, ...]


def children(node: Node) -> tuple[Node, ...]:
    """The parts of an expression that are expressions themselves."""
    match node:
        case Unary(_, operand):
            return (operand,)
        case Binary(_, left, right) | Range(left, right):
            return (left, right)
        case Comparison(operands):
            return operands
        case Membership(item, collection):
            return (item, collection)
        case Collection(_, items) | Function(_, items):
            return items
        case Map(settings):
            return tuple(setting.value for setting in settings)
    return ()


def names_in(node: Node) -> list[Identifier]:
    """Every name in an expression, from left to right, without recursion."""
    found: list[Identifier] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Identifier):
            found.append(current)
        waiting.extend(reversed(children(current)))
    return found


def size(node: Node) -> int:
    """How many names, numbers and operators are in an expression, without recursion."""
    waiting, count = [node], 0
    while waiting:
        waiting.extend(children(waiting.pop()))
        count += 1
    return count


def depth(node: Node) -> tuple[int, int]:
    """How many levels an expression nests, where `a + b - c` is one, and how many nodes are on its longest
    path, where each operation counts; without recursion."""
    nested = longest = 0
    waiting = [(node, 1, 1)]
    while waiting:
        current, level, path = waiting.pop()
        nested, longest = max(nested, level), max(longest, path)
        chained = current.left if isinstance(current, Binary) else None
        for child in children(current):
            flat = child is chained and isinstance(child, Binary)
            waiting.append((child, level if flat else level + 1, path + 1))
    return nested, longest
