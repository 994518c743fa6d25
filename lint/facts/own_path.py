"""A script -> where it uses the folder that it finds from its own path, `$0` or `BASH_SOURCE`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...reading.bash.source import file_source
from ...reading.bash.syntax_tree import descendants, parse

if TYPE_CHECKING:
    from tree_sitter import Node

#: Expansions that hold the script's own path, and such as cut its folder out of one.
_PATH = re.compile(rb"\$(?:0|BASH_SOURCE)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)(?::-\$0)?\}")
_CUT = re.compile(rb"\$\{(?:0|BASH_SOURCE(?:\[0\])?)%%?/[^}]*\}")
_NAME = re.compile(rb"\$\{?(\w+)(?:%%?/\*?)?\}?")
_OF_SLURM = re.compile(rb"SLURM_|SLURMD_|SPANK_|scontrol")
#: Programs that turn a path into another spelling of it.
_SPELLS = (b"realpath", b"readlink", b"cd", b"pwd", b"echo", b"printf")
_EXPANSIONS = ("simple_expansion", "expansion")


@dataclass(frozen=True)
class Use:
    """A command that uses the folder, by line and column, and where the folder is found."""

    line: int
    column: int
    origin: tuple[int, int, int]


def uses(text: str) -> Iterator[Use]:
    """The commands that use the folder of the script, in their order; none in a script that asks SLURM."""
    if not ("$0" in text or "${0" in text or "BASH_SOURCE" in text):
        return
    nodes = list(descendants(parse(file_source("", text))))
    if any(node.type == "test_command" and _OF_SLURM.search(node.text or b"") for node in nodes):
        return
    own = _Own(nodes)
    for node in nodes:
        if node.type == "command" and not _within(node, "command_substitution"):
            origin = next(filter(None, map(own.folder, _expansions(node))), None)
            if origin is not None:
                row, column = node.start_point
                yield Use(row + 1, column + 1, origin)


class _Own:
    """Variables that hold the script's path or its folder, wherever they are assigned."""

    def __init__(self, nodes: list[Node]) -> None:
        self.paths: set[bytes] = set()
        self.folders: dict[bytes, tuple[int, int, int]] = {}
        assigned: dict[bytes, list[Node]] = {}
        for node in nodes:
            target = node.child_by_field_name("name")
            if node.type == "variable_assignment" and target is not None:
                assigned.setdefault(target.text or b"", []).append(node)
        for name, values in assigned.items():
            origins = [
                next(filter(None, map(self.folder, _expansions(each))), None) for each in values
            ]
            first = next(filter(None, origins), None)
            # A name that another branch sets otherwise need not hold the folder; one that grows does.
            if first is not None and (all(origins) or any(_grows(name, each) for each in values)):
                self.folders[name] = first
            elif all(map(self._is_path, values)):
                self.paths.add(name)

    def folder(self, node: Node) -> tuple[int, int, int] | None:
        """Where an expansion takes the folder from: line, column, length; None where it takes none."""
        text = _text(node)
        if node.type == "command_substitution":
            inner = [each for each in descendants(node) if each.type == "command"]
            names = [_program(each) for each in inner]
            if names and set(names) <= {*_SPELLS, b"dirname"}:
                takes = b"dirname" in names and self._is_path(node)
                origins = map(self.folder, _expansions(node, inside=True))
                return _place(node) if takes else next(filter(None, origins), None)
            return None
        name = _NAME.fullmatch(text)
        if name and name[1] in self.folders:
            return self.folders[name[1]]
        if _CUT.fullmatch(text) or (name and name[1] in self.paths and b"%" in text):
            return _place(node)
        if name or _OF_SLURM.search(text):
            return None
        return next(filter(None, map(self.folder, _expansions(node))), None)

    def _is_path(self, node: Node) -> bool:
        """Whether the script's own path stands in a text."""
        names = (_text(each) for each in descendants(node) if each.type in _EXPANSIONS)
        return any(
            _PATH.fullmatch(text) or ((name := _NAME.fullmatch(text)) and name[1] in self.paths)
            for text in names
        )


def _expansions(node: Node, inside: bool = False) -> Iterator[Node]:
    """The outermost expansions below a node, in the order of the text."""
    for child in node.children:
        if child.type in (*_EXPANSIONS, "command_substitution"):
            yield child
        elif inside or child.type not in ("command", "heredoc_redirect"):
            yield from _expansions(child, inside)


def _grows(name: bytes, assignment: Node) -> bool:
    """Whether an assignment adds to what the variable held."""
    names = (_NAME.match(_text(each)) for each in _expansions(assignment))
    return b"+=" in (assignment.text or b"")[: len(name) + 2] or any(
        match is not None and match[1] == name for match in names
    )


def _text(node: Node) -> bytes:
    """An expansion as it is written; the tree takes blanks before it, between quotes, for a part of it."""
    return (node.text or b"").strip()


def _program(command: Node) -> bytes:
    name = command.child_by_field_name("name")
    return (name.text or b"") if name is not None else b""


def _place(node: Node) -> tuple[int, int, int]:
    row, column = node.start_point
    return row + 1, column + 1, len((node.text or b"").split(b"\n")[0])


def _within(node: Node, kind: str) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type == kind:
            return True
        parent = parent.parent
    return False
