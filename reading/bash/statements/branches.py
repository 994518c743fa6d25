"""`if` and `case`: a decided test takes one branch; otherwise all are taken and their states merged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...facts import Stop, Unknown
from ..merged_states import merged
from ..shell import Shell
from ..source import PlacedText
from ..values import Piece, lenient, plain
from ..words.glob_patterns import matches
from ..words.word_expansion import joined
from .control_flow import Break, Exit, Return, Status
from .run_statement import run_all, shown

if TYPE_CHECKING:
    from tree_sitter import Node

Clause = tuple[list["Node"], list["Node"]]


def only_asks(node: Node) -> bool:
    """Whether a statement is a test such as `[ ... ]`, without an effect."""
    if node.type in ("list", "negated_command", "pipeline", "subshell"):
        return any(only_asks(child) for child in node.children if child.is_named)
    text = node.text or b""
    return node.type in ("test_command", "compound_statement") or text.startswith((b"[", b"test "))


def told_by_itself(node: Node) -> bool:
    text = (node.text or b"").lstrip(b"! ")
    return text.split(b" ")[0].rstrip(b";") in (b"true", b"false", b":", b"getopts", b"read")


def take_all(shell: Shell, ways: Sequence[Callable[[Shell], object]], reason: str) -> None:
    """Run each branch from a copy of the state, and merge the states of those that do not leave."""
    left: list[Shell] = []
    ends: list[Exception] = []
    for way in ways:
        inner = shell.fork()
        inner.undecided = True
        try:
            way(inner)
        except Exit as end:
            ends.append(end)
        except (Return, Break) as end:
            ends.append(end)
            if shell.leaving:
                inner.output = None
                shell.leaving[-1].append(inner)
        else:
            left.append(inner)
    if not left:
        raise ends[-1]
    if shell.output is not None:
        outputs = [tuple(inner.output or ()) for inner in left]
        if any(output != outputs[0] for output in outputs):
            place = (shell.path, 1, 1)
            left[0].output = [*shell.output, Piece(Unknown(reason), *place)]
    shell.take(merged(left, reason) if len(left) > 1 else left[0])


def if_statement(shell: Shell, source: PlacedText, node: Node) -> Status:
    clauses: list[tuple[list[Node], list[Node]]] = [([], [])]
    other: list[Node] | None = None
    in_body = False
    for child in node.children:
        if child.type == "then":
            in_body = True
        elif child.type == "elif_clause":
            clauses.append(_clause(child))
        elif child.type == "else_clause":
            other = [item for item in child.children if item.is_named]
        elif child.is_named:
            clauses[-1][1 if in_body else 0].append(child)
    return _choose(shell, source, clauses, other or [])


def _clause(node: Node) -> tuple[list[Node], list[Node]]:
    tests: list[Node] = []
    body: list[Node] = []
    in_body = False
    for child in node.children:
        if child.type == "then":
            in_body = True
        elif child.is_named:
            (body if in_body else tests).append(child)
    return tests, body


def _choose(
    shell: Shell,
    source: PlacedText,
    clauses: list[tuple[list[Node], list[Node]]],
    other: list[Node],
) -> Status:
    for index, (tests, body) in enumerate(clauses):
        before = len(shell.world.reads)
        status = run_all(shell, source, tests)
        if (
            status is not False
            and tests
            and not only_asks(tests[-1])
            and not told_by_itself(tests[-1])
        ):
            status = None
        if status is True:
            return _taken(shell, source, tests, body, before)
        if status is None and tests:
            where = source.place(tests[0].start_byte)
            reason = f"`{shown(source, tests[-1])}` on line {where[1]} is not decided"
            ways = [
                partial(_body, source, body),
                partial(_others, source, clauses[index + 1 :], other),
            ]
            take_all(shell, ways, reason)
            return None
    return run_all(shell, source, other)


def _taken(
    shell: Shell, source: PlacedText, tests: list[Node], body: list[Node], before: int
) -> Status:
    """Run a branch. A second reading, of a script that starts nothing, goes on behind a guard that fires;
    `before` of what was expanded is older than its test."""
    reads = tuple(shell.world.reads[before:])
    try:
        return run_all(shell, source, body)
    except Exit:
        guards = tests and not _MACHINE.search(tests[-1].text or b"") and any(map(_fails, body))
        if not shell.world.given_from_outside or not guards:
            raise
        place = source.place(tests[0].start_byte)
        stop = Stop(shown(source, tests[-1]), *place, reads, shell.undecided)
        shell.world.stops[stop] = None
        return None


#: Tests of files, terminals and programs.
_MACHINE = re.compile(rb"(?:^|\s)-[a-hkprstuwxGLNOS]\s|\b(?:command|type|which|hash)\s")


def _fails(node: Node) -> bool:
    """Whether a statement ends the script with an error."""
    return re.match(rb"exit\s+[1-9]", node.text or b"") is not None


def _body(source: PlacedText, nodes: list[Node], shell: Shell) -> Status:
    return run_all(shell, source, nodes)


def _others(source: PlacedText, clauses: list[Clause], other: list[Node], shell: Shell) -> Status:
    return _choose(shell, source, clauses, other)


def _other_items(
    source: PlacedText, items: list[Node], value: str | Unknown, shell: Shell
) -> Status:
    return _case_items(shell, source, items, value)


def case_statement(shell: Shell, source: PlacedText, node: Node) -> Status:
    items = [child for child in node.children if child.type == "case_item"]
    subject = next(child for child in node.children if child.is_named)
    text = joined(shell, source, subject.start_byte, subject.end_byte)
    value = plain(text) if text and shell.world.given_from_outside else lenient(text)
    return _case_items(shell, source, items, value)


def _case_items(
    shell: Shell, source: PlacedText, items: list[Node], value: str | Unknown
) -> Status:
    for index, item in enumerate(items):
        verdict = _fits(shell, source, item, value)
        if verdict is True:
            return run_all(shell, source, _case_body(item))
        if verdict is None:
            known = value.reason if isinstance(value, Unknown) else f"`{value[:40]}` is too long"
            ways = [
                partial(_body, source, _case_body(item)),
                partial(_other_items, source, items[index + 1 :], value),
            ]
            line = source.place(item.start_byte)[1]
            take_all(shell, ways, f"the case on line {line} is not decided: {known}")
            return None
    return True


def _case_pattern_end(item: Node) -> int:
    return next((i for i, child in enumerate(item.children) if child.type == ")"), 0)


def _case_body(item: Node) -> list[Node]:
    return item.children[_case_pattern_end(item) + 1 :]


def _fits(shell: Shell, source: PlacedText, item: Node, value: str | Unknown) -> Status:
    end = item.children[_case_pattern_end(item)].start_byte if item.children else item.end_byte
    texts = source.text[item.start_byte : end].lstrip("(").split("|")
    if isinstance(value, Unknown):
        return True if texts[0].strip() == "*" else _any_fits(shell, source, item, end, value)
    offset = item.start_byte + (source.text[item.start_byte] == "(")
    for text in texts:
        start = offset + len(text) - len(text.lstrip())
        pattern = lenient(joined(shell, source, start, start + len(text.strip())))
        verdict = None if isinstance(pattern, Unknown) else matches(pattern, value)
        if verdict is not False:
            return verdict
        offset += len(text) + 1
    return False


def _any_fits(shell: Shell, source: PlacedText, item: Node, end: int, value: Unknown) -> Status:
    """Whether an unknown value matches an item of `case`; None where its alternatives differ in that."""
    if not value.alternatives:
        return None
    verdicts = {_fits(shell, source, item, alternative) for alternative in value.alternatives}
    return verdicts.pop() if len(verdicts) == 1 else None
