"""`for`, `while` and `until`: iteration by iteration where the count is decided, else once for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...facts import Unknown
from ..merged_states import merged
from ..shell import Shell
from ..source import PlacedText
from ..values import Piece, Text
from ..words.arithmetic_expansion import arithmetic_value
from ..words.word_expansion import words
from .assignments import all_arguments
from .branches import only_asks, take_all, told_by_itself
from .control_flow import Break, Status
from .run_statement import run_all

if TYPE_CHECKING:
    from tree_sitter import Node

#: Most iterations of a loop; beyond them what it assigns is unknown.
MOST_ROUNDS = 300


def for_statement(shell: Shell, source: PlacedText, node: Node) -> Status:
    body = next((child for child in node.children if child.type == "do_group"), None)
    named = [child for child in node.children if child.is_named and child is not body]
    names = [child for child in named if child.type == "variable_name"]
    if body is None or not names:
        return None
    name = source.text[names[0].start_byte : names[0].end_byte]
    listed = any(child.type == "in" for child in node.children)
    values = [
        word
        for child in named
        if child is not names[0] and child.type != "comment"
        for word in words(shell, source, child.start_byte, child.end_byte)
    ]
    texts = [word.pieces for word in values] if listed else list(shell.positional)
    undecided = next((unknown for word in values if (unknown := word.hidden)), None)
    if shell.awaits_arguments and (not listed or any(all_arguments(source, n) for n in named)):
        undecided = Unknown("the arguments are given from outside")
    if undecided is not None and not undecided.unset:
        return _maybe(
            shell, source, body, f"the loop on line {source.place(node.start_byte)[1]}", name
        )
    return _rounds(shell, source, body, name, [text for text in texts if _there(text)])


def _there(text: Text) -> bool:
    return (
        not all(isinstance(piece.text, Unknown) and piece.text.unset for piece in text) or not text
    )


def _rounds(shell: Shell, source: PlacedText, body: Node, name: str, texts: list[Text]) -> Status:
    if len(texts) > MOST_ROUNDS:
        shell.world.note(
            f"a loop over {len(texts)} words is not followed", source.place(body.start_byte)
        )
        return _maybe(shell, source, body, f"the loop over {len(texts)} words", name)
    shell.leaving.append([])
    try:
        for text in texts:
            shell.set(name, text)
            if _round(shell, source, body):
                break
    finally:
        left = shell.leaving.pop()
    return rejoin(shell, left, "a `break` before is not decided")


def rejoin(shell: Shell, left: list[Shell], reason: str) -> Status:
    if left:
        here = shell.fork()
        shell.take(merged([here, *left[:8]], reason))
    return None


def _round(shell: Shell, source: PlacedText, body: Node) -> bool:
    """Run one iteration; whether the loop ends with it."""
    try:
        run_all(shell, source, body.children)
    except Break as end:
        if end.levels > 1:
            raise Break(end.levels - 1, end.again) from None
        return not end.again
    return False


def _maybe(shell: Shell, source: PlacedText, body: Node, what: str, name: str = "") -> Status:
    """A loop of unknown count: one iteration stands for all of them, and for none."""
    reason = f"{what} runs as often as the machine says"

    def once(inner: Shell) -> None:
        before = dict(inner.variables)
        if name:
            inner.set(name, (Piece(Unknown(reason), *source.place(body.start_byte)),))
        inner.leaving.append([])
        try:
            _round(inner, source, body)
        finally:
            inner.leaving.pop()
        for changed, value in list(inner.variables.items()):
            if value.elements is None and before.get(changed) is not value and value.value:
                place = value.value[0]._replace(text=Unknown(f"`{changed}`: {reason}"))
                inner.variables[changed] = value._replace(value=(place,))

    take_all(shell, [once, lambda inner: None], reason)
    return None


def truth(value: int | Unknown) -> Status:
    return None if isinstance(value, Unknown) else value != 0


def c_style_for(shell: Shell, source: PlacedText, node: Node) -> Status:
    text = source.text
    body = next(
        (child for child in node.children if child.type in ("do_group", "compound_statement")), None
    )
    opening = text.find("((", node.start_byte)
    if body is None or opening < 0:
        return None
    closing = text.rfind("))", opening, body.start_byte)
    parts: list[tuple[int, int]] = []
    start = opening + 2
    for piece in text[start:closing].split(";"):
        parts.append((start, start + len(piece)))
        start += len(piece) + 1
    if len(parts) != 3:
        return None
    arithmetic_value(shell, source, *parts[0], strict=False)
    return _while(shell, source, node, body, lambda: _c_test(shell, source, parts[1]), parts[2])


def _c_test(shell: Shell, source: PlacedText, span: tuple[int, int]) -> Status:
    if not source.text[slice(*span)].strip():
        return True
    return truth(arithmetic_value(shell, source, *span, strict=False))


def while_statement(shell: Shell, source: PlacedText, node: Node) -> Status:
    body = next((child for child in node.children if child.type == "do_group"), None)
    tests = [child for child in node.children if child.is_named and child is not body]
    until = bool(node.children) and node.children[0].type == "until"
    if body is None:
        return None

    def test() -> Status:
        status = run_all(shell, source, tests)
        if status is True and tests and not only_asks(tests[-1]) and not told_by_itself(tests[-1]):
            status = None
        return status if not until or status is None else not status

    return _while(shell, source, node, body, test, None)


def _while(
    shell: Shell,
    source: PlacedText,
    node: Node,
    body: Node,
    test: Callable[[], Status],
    step: tuple[int, int] | None,
) -> Status:
    where = f"the loop on line {source.place(node.start_byte)[1]}"
    shell.leaving.append([])
    try:
        for _ in range(MOST_ROUNDS):
            verdict = test()
            if verdict is None:
                return _maybe(shell, source, body, where)
            if verdict is False:
                break
            before = dict(shell.variables), shell.positional
            if _round(shell, source, body):
                break
            if step is not None:
                arithmetic_value(shell, source, *step, strict=False)
            if (shell.variables, shell.positional) == before:
                shell.world.note(f"{where} does not end", source.place(node.start_byte))
                break
        else:
            shell.world.note(f"{where} does not end", source.place(node.start_byte))
            return _maybe(shell, source, body, where)
    finally:
        left = shell.leaving.pop()
    return rejoin(shell, left, f"where {where} ends is not decided")
