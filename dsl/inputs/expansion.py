"""Composed YAML -> refused where a walk over it would visit too much, or would not end; without that walk.

An alias is the node of its anchor, so that a text of a kilobyte may stand for 10^19 nodes, and a node may
hold itself. Here each node is counted once, and its size is used again wherever an alias stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .files import OverLimit

if TYPE_CHECKING:
    from yaml import Node

#: Keys and values of a text, those behind an anchor once for each of its aliases.
MOST_NODES = 50_000
#: Characters of all values and of their dotted names, such as `model.optimizer.lr`.
MOST_CHARACTERS = 8 * 1024 * 1024


class Size(NamedTuple):
    """Counts of a node and all below it: nodes, values, characters of values and of their names, levels."""

    nodes: int = 1
    values: int = 0
    characters: int = 0
    depth: int = 0


def refuse_expansion(documents: Sequence[Node | None], deepest: int) -> None:
    """Raises `OverLimit` for documents that stand for too many nodes or characters, or for collections nested
    more than `deepest` levels."""
    sizes: dict[int, Size] = {}
    found = [_size(document, sizes) for document in documents if document is not None]
    if sum(size.nodes for size in found) > MOST_NODES:
        raise OverLimit(f"it has over {MOST_NODES:,} keys and values, aliases followed")
    if sum(size.characters for size in found) > MOST_CHARACTERS:
        raise OverLimit(f"its names and values have over {MOST_CHARACTERS:,} characters")
    if max((size.depth for size in found), default=0) > deepest:
        raise OverLimit(f"it is nested more than {deepest} levels deep")


def _size(document: Node, sizes: dict[int, Size]) -> Size:
    """Children before their parent, without recursion: a chain of aliases is as deep as the text is long."""
    open_: dict[int, Iterator[tuple[int, Node]]] = {}
    stack = [document]
    while stack:
        node = stack[-1]
        if id(node) not in open_:
            open_[id(node)] = _children(node)
        below = next((each for _, each in open_[id(node)] if id(each) not in sizes), None)
        if below is None:
            sizes[id(stack.pop())] = _sum(node, sizes)
            del open_[id(node)]
        elif id(below) in open_:
            raise OverLimit(f"line {below.start_mark.line + 1}: an anchor holds itself")
        else:
            stack.append(below)
    return sizes[id(document)]


def _sum(node: Node, sizes: dict[int, Size]) -> Size:
    if isinstance(node.value, str):
        return Size(values=1, characters=len(node.value))
    nodes, values, characters, depth = 1, 0, 0, 0
    for name, each in _children(node):
        size = sizes[id(each)]
        nodes += size.nodes
        values += size.values
        characters += size.characters + size.values * (name + 1)
        depth = max(depth, size.depth)
    return Size(nodes, values, characters, depth + 1)


def _children(node: Node) -> Iterator[tuple[int, Node]]:
    """The nodes of a collection, each with the characters of its name."""
    from yaml import MappingNode, ScalarNode

    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield 0, key
            yield len(key.value) if isinstance(key, ScalarNode) else 0, value
    elif not isinstance(node, ScalarNode):
        yield from ((len(str(index)), each) for index, each in enumerate(node.value))
