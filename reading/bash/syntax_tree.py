"""A source -> its syntax tree. Parts that are no bash are error nodes between readable statements."""

from collections.abc import Iterator
from functools import cache, lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from .source import PlacedText


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(source: PlacedText) -> Node:
    return _parsed(source.parsable)


@lru_cache(maxsize=128)
def _parsed(text: bytes) -> Node:
    return _parser().parse(text).root_node


def descendants(root: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)
