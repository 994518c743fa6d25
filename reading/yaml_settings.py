"""A YAML text -> its settings by dotted name, each with the place of its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dsl.inputs.documents import yaml_node
from .bash.source import PlacedText, file_source
from .bash.values import Word, whole, word
from .facts import Setting, Unknown, Value

if TYPE_CHECKING:
    from yaml import Node

#: Words of YAML 1.1, as PyYAML has them, and of 1.2.
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_NULL = frozenset({"", "~", "null"})


@dataclass(frozen=True)
class Scalar:
    """One value: as it is written, whether in quotes, and where, counted from 1; or why it is unknown."""

    name: str
    text: str
    quoted: bool
    path: str
    line: int
    column: int
    unknown: Unknown | None = None

    @property
    def value(self) -> Value | Unknown | None:
        """The scalar's value by YAML's rules; None for null."""
        plain = self.text.lower()
        if self.unknown is not None:
            return self.unknown
        if self.quoted:
            return self.text
        if plain in _NULL:
            return None
        if plain in _TRUE | _FALSE:
            return plain in _TRUE
        number = whole(self.text)
        return self.text if number is None else number

    @property
    def word(self) -> Word:
        """The value as a word of a command that stands there."""
        return word(self.unknown or self.text, self.path, self.line, self.column)

    def setting(self) -> Setting:
        value = self.value
        told = "null" if value is None else value
        length = max(len(self.text) + 2 * self.quoted, 1)
        return Setting("yaml", self.name, (told,), self.path, self.line, self.column, length)


def yaml_scalars(path: str, text: str) -> Mapping[str, Scalar]:
    """Every value of a YAML mapping by its dotted name, the last of a name counting.

    Items of lists have their number as a name. Nothing for a text that is no mapping. Raises `ValueError`.
    """
    return placed_scalars(file_source(path, text))


def placed_scalars(source: PlacedText) -> Mapping[str, Scalar]:
    """`yaml_scalars` of a text that a script may have written, whose characters have places of their own."""
    from yaml import MappingNode

    node = yaml_node(source.text)
    return scalars_of(source, node) if isinstance(node, MappingNode) else {}


def scalars_of(source: PlacedText, node: Node) -> dict[str, Scalar]:
    """Every value below a node of a text, as many as its documents may have."""
    return {scalar.name: scalar for scalar in _scalars(source, "", node)}


def _scalars(source: PlacedText, name: str, node: Node) -> Iterator[Scalar]:
    from yaml import ScalarNode

    if isinstance(node, ScalarNode):
        quoted = node.style in ("'", '"', "|", ">")
        yield Scalar(
            name, node.value, quoted, *place_of(source, node), _unknown(source, node.value)
        )
        return
    for key, value in members(node):
        yield from _scalars(source, f"{name}.{key}" if name else key, value)


def place_of(source: PlacedText, node: Node) -> tuple[str, int, int]:
    """Path, line and column where a node begins."""
    return source.place(min(node.start_mark.index, max(0, len(source.text) - 1)))


def _unknown(source: PlacedText, text: str) -> Unknown | None:
    return next((unknown for mark, unknown in source.unknown.items() if mark in text), None)


def members(node: Node) -> Iterator[tuple[str, Node]]:
    """Children of a node by their names, items of a list by their numbers."""
    from yaml import MappingNode, ScalarNode, SequenceNode

    if isinstance(node, SequenceNode):
        yield from ((str(index), item) for index, item in enumerate(node.value))
    elif isinstance(node, MappingNode):
        pairs = ((key, value) for key, value in node.value if isinstance(key, ScalarNode))
        yield from ((str(key.value), value) for key, value in pairs)
