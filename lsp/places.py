"""A character of a job file -> the word that stands there, and what it is in its block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..dsl.diagnostics import Span
from ..dsl.syntax.tree import (
    Block,
    Clause,
    File,
    Identifier,
    Import,
    Let,
    Node,
    Setting,
    children,
)

Role = Literal["kind", "name", "base", "key", "keyword", "use", "let", "import"]


@dataclass(frozen=True)
class Place:
    """A word. `setting` is the one of which it is the key, or in whose value it stands."""

    role: Role
    word: str
    span: Span
    block: Block | None = None
    setting: Setting | None = None


def place_at(file: File, offset: int) -> Place | None:
    """The word at a character, or right before it."""
    found = (place for place in places(file) if place.span.start <= offset <= place.span.end)
    return next(found, None)


def places(file: File) -> Iterator[Place]:
    """Every word of a file that means something."""
    for statement in file.statements:
        match statement:
            case Import(path):
                yield Place("import", path.value, path.span)
            case Let(name, value):
                yield Place("let", name.name, name.span)
                yield from _uses(value, None, None)
            case Block():
                yield from _of_block(statement)
            case Setting():
                yield from _of_item(statement, None)


def _of_block(block: Block) -> Iterator[Place]:
    yield Place("kind", block.kind.name, block.kind.span, block)
    if block.name:
        yield Place("name", block.name.name, block.name.span, block)
    if block.base:
        yield Place("base", block.base.name, block.base.span, block)
    for item in block.items:
        yield from _of_item(item, block)


def _of_item(item: Setting | Clause, block: Block | None) -> Iterator[Place]:
    if isinstance(item, Clause):
        yield Place("keyword", item.keyword.name, item.keyword.span, block)
        yield from _uses(item.condition, block, None)
    else:
        yield Place("key", item.key.name, item.key.span, block, item)
        yield from _uses(item.value, block, item)


def _uses(value: Node, block: Block | None, setting: Setting | None) -> Iterator[Place]:
    """The names in a value, from left to right; depth is bounded by the parser."""
    if isinstance(value, Identifier):
        yield Place("use", value.name, value.span, block, setting)
    for part in children(value):
        yield from _uses(part, block, setting)
