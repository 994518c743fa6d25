"""Lists (`&&`, `||`), groups, subshells, pipelines, functions and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shell import DEEPEST, OutOfSteps, Shell
from ..source import PlacedText
from ..values import Word
from ..words.arithmetic_expansion import arithmetic_value
from . import conditions
from .branches import only_asks, take_all
from .control_flow import Break, Exit, Return, Status
from .loops import rejoin, truth
from .run_statement import run, run_all, shown

if TYPE_CHECKING:
    from tree_sitter import Node


def children(shell: Shell, source: PlacedText, node: Node) -> Status:
    return run_all(shell, source, node.children)


def subshell(shell: Shell, source: PlacedText, node: Node) -> Status:
    inner = shell.fork()
    try:
        status = run_all(inner, source, node.children)
    except (Exit, Return, Break):
        status = None
    if shell.output is not None and inner.output is not None:
        shell.output[:] = inner.output
    shell.files.update(inner.files)
    return status


def error(shell: Shell, source: PlacedText, node: Node) -> Status:
    shell.world.note("it is no bash, or bash that is not understood", source.place(node.start_byte))
    return run_all(shell, source, node.children)


def compound(shell: Shell, source: PlacedText, node: Node) -> Status:
    start, end = node.start_byte, node.end_byte
    if source.text.startswith("((", start):
        return truth(arithmetic_value(shell, source, start + 2, end - 2, strict=False))
    return run_all(shell, source, node.children)


def and_or(shell: Shell, source: PlacedText, node: Node) -> Status:
    """`a && b`, `a || b`: commands are assumed to succeed, tests may be undecided."""
    parts = [child for child in node.children if child.is_named and child.type != "comment"]
    if len(parts) < 2:
        return run_all(shell, source, parts)
    operator = "&&" if any(child.type == "&&" for child in node.children) else "||"
    status = run(shell, source, parts[0])
    if status is None and not only_asks(parts[0]):
        if operator == "||":
            _where_it_fails(shell, source, parts[1])
        status = True
    if status is None:
        where = (
            f"`{shown(source, parts[0])}` on line {source.place(node.start_byte)[1]} is not decided"
        )
        take_all(shell, [lambda inner: run(inner, source, parts[1]), lambda inner: None], where)
        return None
    if status == (operator == "&&"):
        return run(shell, source, parts[1])
    return status


def _where_it_fails(shell: Shell, source: PlacedText, node: Node) -> None:
    """Add what a command's failure runs to the trace."""
    try:
        run(shell.apart(("ERR",)), source, node)
    except (Exit, Return, Break, OutOfSteps):
        return


def negated(shell: Shell, source: PlacedText, node: Node) -> Status:
    status = children(shell, source, node)
    return None if status is None else not status


def test(shell: Shell, source: PlacedText, node: Node) -> Status:
    text, start, end = source.text, node.start_byte, node.end_byte
    if text.startswith("[[", start):
        return conditions.bracket(shell, source, start + 2, end - 2)
    if text.startswith("((", start):
        return truth(arithmetic_value(shell, source, start + 2, end - 2, strict=False))
    return conditions.test(shell, source, start + 1, end - 1)


def pipeline(shell: Shell, source: PlacedText, node: Node) -> Status:
    stages = [child for child in node.children if child.is_named and child.type != "comment"]
    stdin = shell.stdin
    status: Status = True
    for stage in stages:
        inner = shell.fork()
        inner.output, inner.stdin = [], stdin
        try:
            status = run(inner, source, stage)
        except (Exit, Return, Break):
            status = None
        stdin = tuple(inner.output)
        shell.files.update(inner.files)
    if shell.output is not None and stdin is not None:
        shell.output += stdin
    return status


def function(shell: Shell, source: PlacedText, node: Node) -> Status:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is not None and body is not None:
        shell.functions[source.text[name.start_byte : name.end_byte]] = (source, body)
    return True


def call(shell: Shell, name: str, arguments: list[Word]) -> Status:
    """Run a function with its arguments."""
    source, body = shell.functions[name]
    if shell.depth > 3 * DEEPEST:
        return None
    before = shell.positional
    shell.positional = tuple(word.pieces for word in arguments)
    shell.hidden.append({})
    shell.leaving.append([])
    try:
        status = run(shell, source, body)
    except Return:
        status = None
    finally:
        left = shell.leaving.pop()
    rejoin(shell, left, "a `return` before is not decided")
    shell.positional = before
    for hidden, value in shell.hidden.pop().items():
        if value is None:
            shell.variables.pop(hidden, None)
        else:
            shell.variables[hidden] = value
    return status
