"""Syntax tree -> the state after its statements; `handlers` has the function of each node type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..shell import DEEPEST, Shell
from ..source import PlacedText
from ..syntax_tree import parse
from .control_flow import Break, Exit, Return, Status

if TYPE_CHECKING:
    from tree_sitter import Node


#: What sends a statement to the background.
_BACKGROUND = re.compile(r"[ \t]*&(?![&>])")


def run_text(shell: Shell, source: PlacedText) -> Status:
    """Run every statement of a text, up to its `exit`."""
    try:
        return run_all(shell, source, parse(source).children)
    except Exit:
        return None
    except (Return, Break):
        return None


def run_all(shell: Shell, source: PlacedText, nodes: list[Node]) -> Status:
    status: Status = True
    for node in nodes:
        if node.is_named:
            status = run(shell, source, node)
    return status


def run(shell: Shell, source: PlacedText, node: Node) -> Status:
    shell.world.budget.spend()
    handler = shell.world.handlers.get(node.type)
    if handler is None:
        return True
    if shell.depth > 4 * DEEPEST:
        shell.world.note("it is nested too deep", source.place(node.start_byte), over_limit=True)
        return None
    shell.depth += 1
    before = shell.background
    shell.background = before or _BACKGROUND.match(source.text, node.end_byte) is not None
    try:
        return handler(shell, source, node)
    finally:
        shell.depth -= 1
        shell.background = before


def shown(source: PlacedText, node: Node) -> str:
    """A statement in one short line."""
    text = " ".join(source.text[node.start_byte : node.end_byte].split())
    return text if len(text) <= 60 else text[:57] + "..."
