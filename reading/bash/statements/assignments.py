"""`NAME=value`, `NAME+=value`, `NAME[index]=value` and `NAME=( ... )`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...facts import Unknown
from ..shell import Shell, Variable
from ..source import PlacedText
from ..trace import MOST_ASSIGNMENTS, Assignment
from ..values import Piece, Text, lenient
from ..words.arithmetic_expansion import arithmetic_value
from ..words.closing_marks import word_end
from ..words.word_expansion import joined, words
from .control_flow import Status

if TYPE_CHECKING:
    from tree_sitter import Node


def assignment(shell: Shell, source: PlacedText, node: Node) -> Status:
    assign(shell, source, node)
    return True


def assign(shell: Shell, source: PlacedText, node: Node, exported: bool | None = None) -> str:
    """`NAME=value`, `NAME+=value`, `NAME[index]=value`, `NAME=( ... )`; the name."""
    before = len(shell.world.reads)
    name = _assigned(shell, source, node, exported)
    note(shell, name, source.place(node.start_byte), bool(exported), before)
    return name


#: Characters that end a word outside quotes.
_OPERATORS = (";", "&", "|", "<", ">", "(", ")")


def assignment_end(source: PlacedText, node: Node) -> int:
    """The end of an assignment: the grammar ends `A="a "\\$B" c"` behind its quotes, bash at a blank."""
    if any(child.type == "array" for child in node.children):
        return node.end_byte
    return word_end(source.text, node.end_byte, len(source.text), _OPERATORS)


def _assigned(shell: Shell, source: PlacedText, node: Node, exported: bool | None) -> str:
    start, end = node.start_byte, assignment_end(source, node)
    text = source.text
    equals = text.find("=", start, end)
    target = text[start : equals if equals >= 0 else end]
    appends = target.endswith("+")
    target = target.removesuffix("+")
    name, bracket, index = target.partition("[")
    array = next((child for child in node.children if child.type == "array"), None)
    if array is not None:
        old = shell.variables.get(name) if appends else None
        before: Mapping[str, Text] = {}
        if old is not None:
            before = {"0": old.value} if old.elements is None else old.elements
        found = {**before, **_elements(shell, source, array, len(before))}
        shell.set_elements(name, found)
        return name
    value = joined(shell, source, equals + 1, end)
    value = value or (Piece("", *source.place(max(start, end - 1))),)
    if bracket:
        _assign_element(shell, source, name, start + len(name) + 1, equals - appends - 1, value)
        return name
    if appends:
        value = (*(shell.get(name) or ()), *value)
    shell.set(name, value, exported)
    return name


def note(shell: Shell, name: str, place: tuple[str, int, int], exported: bool, before: int) -> None:
    """Note what a variable was set to; `before` of the world's expansions are older than that."""
    world, now = shell.world, shell.variables.get(name, _NOTHING)
    if len(world.assignments) < MOST_ASSIGNMENTS:
        elements = None if now.elements is None else tuple(now.elements.values())
        seen = exported or now.exported
        reads, ran = tuple(world.reads[before:]), len(world.trace)
        made = Assignment(name, now.value, elements, seen, place, shell.scripts, ran, reads)
        world.assignments[made] = None


_NOTHING = Variable(())


def _assign_element(
    shell: Shell, source: PlacedText, name: str, start: int, end: int, value: Text
) -> None:
    key = lenient(joined(shell, source, start, end))
    old = shell.variables.get(name)
    found = dict(old.elements) if old is not None and old.elements is not None else {}
    if isinstance(key, Unknown):
        unknown = Piece(key, *source.place(start), True)
        shell.set_elements(name, {"0": (unknown,)})
        return
    if not key.isdecimal() and key not in found and key.isidentifier() and shell.get(key):
        number = arithmetic_value(shell, source, start, end, False)
        key = key if isinstance(number, Unknown) else str(number)
    shell.set_elements(name, found | {key: value})


def _elements(shell: Shell, source: PlacedText, node: Node, count: int) -> dict[str, Text]:
    """Elements by key, or by number from `count` on."""
    found: dict[str, Text] = {}
    for child in node.children:
        if not child.is_named or child.type == "comment":
            continue
        start, end = child.start_byte, child.end_byte
        closed = source.text.find("]=", start, end) if source.text[start] == "[" else -1
        if closed > 0:
            key = lenient(joined(shell, source, start + 1, closed))
            found[str(key)] = joined(shell, source, closed + 2, end)
            continue
        for word in words(shell, source, start, end):
            if all(isinstance(p.text, Unknown) and p.text.unset and p.split for p in word.pieces):
                continue
            found[str(count)] = word.pieces
            count += 1
        if shell.awaits_arguments and all_arguments(source, child):
            unknown = Unknown("the arguments are given from outside", several=True)
            found[str(count)] = (Piece(unknown, *source.place(start), True),)
            count += 1
    return found


def all_arguments(source: PlacedText, node: Node) -> bool:
    return source.text[node.start_byte : node.end_byte].strip('"') in ("$@", "$*")
