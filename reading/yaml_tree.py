"""A node of a YAML text, by the names of its members; its texts have the place of every character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bash.source import PlacedText
from .bash.values import Piece, Text, Word, plain, whole
from .facts import Unknown
from .yaml_settings import members, place_of

if TYPE_CHECKING:
    from yaml import Node

#: Characters between two parts of a scalar, such as an indentation and line ends.
FARTHEST = 1_000


@dataclass(frozen=True)
class Tree:
    source: PlacedText
    node: Node

    def get(self, *names: str) -> Tree | None:
        """The node below these names, None where one is missing."""
        node: Node | None = self.node
        for name in names:
            node = dict(members(node)).get(name) if node is not None else None
        return None if node is None else Tree(self.source, node)

    def all(self, *names: str) -> Iterator[tuple[str, Tree]]:
        """The members below these names, in their order; those of a list by their number."""
        found = self.get(*names)
        if found is not None:
            yield from ((name, Tree(self.source, node)) for name, node in members(found.node))

    @property
    def word(self) -> Word:
        """A scalar as a word; the place alone of what is none."""
        from yaml import ScalarNode

        place = place_of(self.source, self.node)
        if isinstance(self.node, ScalarNode):
            return Word(tuple(_pieces(self.source, self.node)) or (Piece("", *place),))
        return Word((Piece("", *place),))

    @property
    def text(self) -> str | Unknown:
        return plain(self.word.pieces)


def number_in(text: Text) -> int | Unknown:
    """A whole number, or why it is none that is known."""
    found = plain(text)
    if isinstance(found, Unknown):
        return found
    if "$" in found:
        return Unknown(f"`{found[:40]}` is filled in before the file is used")
    number = whole(found)
    return Unknown(f"`{found[:40]}` is not a whole number") if number is None else number


def _pieces(source: PlacedText, node: Node) -> Iterator[Piece]:
    """The lines of a scalar where they stand; a line that is folded or quoted word by word."""
    at, end = node.start_mark.index, node.end_mark.index
    for line in str(node.value).splitlines(keepends=True):
        found = _find(source.text, line.rstrip("\n"), at, end)
        parts = [line] if found >= 0 else re.findall(r"\s+|\S+", line)
        for part in parts:
            found = _find(source.text, part.rstrip("\n"), at, end) if part.strip() else at
            at = max(at, found)
            yield Piece(part, *source.place(min(at, len(source.text) - 1)))
            at += len(part.rstrip("\n")) if found >= 0 and part.strip() else 0


def _find(text: str, part: str, start: int, end: int) -> int:
    """Where a part of a scalar is next, -1 where it is written in another way or stands far behind."""
    return text.find(part, start, min(end, start + len(part) + FARTHEST))
