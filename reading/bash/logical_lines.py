"""A script -> its logical lines: continued ones and those of one quoted text joined, without comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..sbatch_options import is_command
from .source import PlacedText
from .syntax_tree import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTED = frozenset({"string", "raw_string", "ansi_c_string", "translated_string"})


def logical_lines(source: PlacedText) -> Iterator[tuple[int, str]]:
    """Number of the first line, and text, of each one that is neither blank nor a comment; the parser decides
    where quotes and comments end."""
    lines = source.text.split("\n")
    joined, comments = set[int](), dict[int, int]()
    for node in _marks(parse(source), source.parsable):
        start, end = node.start_point, node.end_point
        if node.type == "comment":
            comments[start[0]] = start[1]
        else:
            joined.update(range(start[0], end[0]))
    parts: list[str] = []
    for row, whole in enumerate(lines):
        line = whole[: comments[row]] if row in comments else whole
        continued = row not in comments and line.endswith("\\")
        parts.append(line.removesuffix("\\") if continued or row in joined else line)
        if not (continued or row in joined):
            text = " ".join(parts)
            if is_command(text):
                yield row + 2 - len(parts), text
            parts = []
    if is_command(" ".join(parts)):
        yield len(lines) + 1 - len(parts), " ".join(parts)


def _marks(root: Node, text: bytes) -> Iterator[Node]:
    """The comments, and the quoted texts that have several lines."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        several = node.start_point[0] < node.end_point[0]
        if node.type == "comment" or (several and node.type in _QUOTED):
            yield node
        elif several or b"#" in text[node.start_byte : node.end_byte]:
            waiting += node.children
