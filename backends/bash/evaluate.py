"""Statements -> what they leave behind, by the syntax tree. Undecided tests take both ways, and meet again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..backend import Unknown
from . import conditions
from .expand import arithmetic_value, joined, pieces, unbroken, words
from .patterns import matches
from .scan import after_brace, after_dollar, after_double
from .shell import DEEPEST, Shell, merged
from .source import Source
from .tree import parse
from .values import Piece, Text, Word, lenient, unknown_of

if TYPE_CHECKING:
    from tree_sitter import Node

Status = bool | None
#: A loop runs no longer than this; then what it assigns is unknown.
MOST_ROUNDS = 300


class Exit(Exception):
    """The script ends."""


class Return(Exception):
    """The function, or the sourced file, ends."""


class Break(Exception):
    """The loop ends, or `again` goes on with the next round; `levels` loops are meant."""

    def __init__(self, levels: int, again: bool):
        self.levels, self.again = levels, again


def run_text(shell: Shell, source: Source) -> Status:
    """Everything in a source; a script's `exit` ends it here."""
    try:
        return run_all(shell, source, parse(source).children)
    except Exit:
        return None
    except (Return, Break):
        return None


def run_all(shell: Shell, source: Source, nodes: list[Node]) -> Status:
    status: Status = True
    for node in nodes:
        if node.is_named:
            status = run(shell, source, node)
    return status


def run(shell: Shell, source: Source, node: Node) -> Status:
    shell.world.budget.spend()
    handler = HANDLERS.get(node.type)
    if handler is None:
        return True
    if shell.depth > 4 * DEEPEST:
        shell.world.note("it is nested too deep", source.place(node.start_byte))
        return None
    shell.depth += 1
    try:
        return handler(shell, source, node)
    finally:
        shell.depth -= 1


def _children(shell: Shell, source: Source, node: Node) -> Status:
    return run_all(shell, source, node.children)


def _subshell(shell: Shell, source: Source, node: Node) -> Status:
    inner = shell.fork()
    try:
        status = run_all(inner, source, node.children)
    except (Exit, Return, Break):
        status = None
    if shell.output is not None and inner.output is not None:
        shell.output[:] = inner.output
    shell.files.update(inner.files)
    return status


def _error(shell: Shell, source: Source, node: Node) -> Status:
    shell.world.note("it is no bash, or bash that is not understood", source.place(node.start_byte))
    return run_all(shell, source, node.children)


def _compound(shell: Shell, source: Source, node: Node) -> Status:
    start, end = node.start_byte, node.end_byte
    if source.text.startswith("((", start):
        return _truth(arithmetic_value(shell, source, start + 2, end - 2, strict=False))
    return run_all(shell, source, node.children)


def _truth(value: int | Unknown) -> Status:
    return None if isinstance(value, Unknown) else value != 0


def _list(shell: Shell, source: Source, node: Node) -> Status:
    """`a && b`, `a || b`: a command is taken to succeed, a test may be undecided."""
    parts = [child for child in node.children if child.is_named and child.type != "comment"]
    if len(parts) < 2:
        return run_all(shell, source, parts)
    operator = "&&" if any(child.type == "&&" for child in node.children) else "||"
    status = run(shell, source, parts[0])
    if status is None and not _tests(parts[0]):
        status = True
    if status is None:
        where = f"`{_short(source, parts[0])}` on line {source.place(node.start_byte)[1]} is not decided"
        _branches(shell, [lambda inner: run(inner, source, parts[1]), lambda inner: None], where)
        return None
    if status == (operator == "&&"):
        return run(shell, source, parts[1])
    return status


def _tests(node: Node) -> bool:
    """Whether a statement only asks, as `[ ... ]` does."""
    if node.type in ("list", "negated_command", "pipeline", "subshell"):
        return any(_tests(child) for child in node.children if child.is_named)
    text = node.text or b""
    return node.type in ("test_command", "compound_statement") or text.startswith((b"[", b"test "))


def _short(source: Source, node: Node) -> str:
    text = " ".join(source.text[node.start_byte : node.end_byte].split())
    return text if len(text) <= 60 else text[:57] + "..."


def _branches(
    shell: Shell, ways: list[Callable[[Shell], object]], reason: str
) -> None:
    """Take each way from here; go on with what those that come back have in common."""
    left: list[Shell] = []
    ends: list[Exception] = []
    for way in ways:
        inner = shell.fork()
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


def _if(shell: Shell, source: Source, node: Node) -> Status:
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
    source: Source,
    clauses: list[tuple[list[Node], list[Node]]],
    other: list[Node],
) -> Status:
    for index, (tests, body) in enumerate(clauses):
        status = run_all(shell, source, tests)
        if status is not False and tests and not _tests(tests[-1]) and not _decided(tests[-1]):
            status = None
        if status is True:
            return run_all(shell, source, body)
        if status is None and tests:
            where = source.place(tests[0].start_byte)
            reason = f"`{_short(source, tests[-1])}` on line {where[1]} is not decided"
            rest = clauses[index + 1 :]
            _branches(
                shell,
                [
                    lambda inner, body=body: run_all(inner, source, body),  # type: ignore[misc]
                    lambda inner: _choose(inner, source, rest, other),
                ],
                reason,
            )
            return None
    return run_all(shell, source, other)


def _decided(node: Node) -> bool:
    text = (node.text or b"").lstrip(b"! ")
    return text.split(b" ")[0].rstrip(b";") in (b"true", b"false", b":", b"getopts", b"read")


def _case(shell: Shell, source: Source, node: Node) -> Status:
    items = [child for child in node.children if child.type == "case_item"]
    subject = next(child for child in node.children if child.is_named)
    value = lenient(joined(shell, source, subject.start_byte, subject.end_byte))
    return _case_items(shell, source, items, value)


def _case_items(shell: Shell, source: Source, items: list[Node], value: str | Unknown) -> Status:
    for index, item in enumerate(items):
        verdict = _fits(shell, source, item, value)
        if verdict is True:
            return run_all(shell, source, _case_body(item))
        if verdict is None:
            known = value.reason if isinstance(value, Unknown) else f"`{value[:40]}` is too long"
            _branches(
                shell,
                [
                    lambda inner, item=item: run_all(inner, source, _case_body(item)),  # type: ignore[misc]
                    lambda inner: _case_items(inner, source, items[index + 1 :], value),
                ],
                f"the case on line {source.place(item.start_byte)[1]} is not decided: {known}",
            )
            return None
    return True


def _case_pattern_end(item: Node) -> int:
    return next((i for i, child in enumerate(item.children) if child.type == ")"), 0)


def _case_body(item: Node) -> list[Node]:
    return item.children[_case_pattern_end(item) + 1 :]


def _fits(shell: Shell, source: Source, item: Node, value: str | Unknown) -> Status:
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


def _any_fits(
    shell: Shell, source: Source, item: Node, end: int, value: Unknown
) -> Status:
    """An unknown value with known alternatives fits no item that none of them fits."""
    if not value.alternatives:
        return None
    verdicts = {_fits(shell, source, item, alternative) for alternative in value.alternatives}
    return verdicts.pop() if len(verdicts) == 1 else None


def _for(shell: Shell, source: Source, node: Node) -> Status:
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
    vague = next((unknown for word in values if (unknown := word.hidden)), None)
    if vague is not None and not vague.unset:
        return _maybe(shell, source, body, f"the loop on line {source.place(node.start_byte)[1]}", name)
    return _rounds(shell, source, body, name, [text for text in texts if _there(text)])


def _there(text: Text) -> bool:
    return not all(isinstance(piece.text, Unknown) and piece.text.unset for piece in text) or not text


def _rounds(shell: Shell, source: Source, body: Node, name: str, texts: list[Text]) -> Status:
    if len(texts) > MOST_ROUNDS:
        shell.world.note(f"a loop over {len(texts)} words is not followed", source.place(body.start_byte))
        return _maybe(shell, source, body, f"the loop over {len(texts)} words", name)
    shell.leaving.append([])
    try:
        for text in texts:
            shell.set(name, text)
            if _round(shell, source, body):
                break
    finally:
        left = shell.leaving.pop()
    return _rejoin(shell, left, "a `break` before is not decided")


def _rejoin(shell: Shell, left: list[Shell], reason: str) -> Status:
    if left:
        here = shell.fork()
        shell.take(merged([here, *left[:8]], reason))
    return None


def _round(shell: Shell, source: Source, body: Node) -> bool:
    """One round of a loop; whether the loop ends with it."""
    try:
        run_all(shell, source, body.children)
    except Break as end:
        if end.levels > 1:
            raise Break(end.levels - 1, end.again) from None
        return not end.again
    return False


def _maybe(shell: Shell, source: Source, body: Node, what: str, name: str = "") -> Status:
    """A loop of which nobody knows how often it runs: once stands for all, and may be none."""
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

    _branches(shell, [once, lambda inner: None], reason)
    return None


def _c_for(shell: Shell, source: Source, node: Node) -> Status:
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


def _c_test(shell: Shell, source: Source, span: tuple[int, int]) -> Status:
    if not source.text[slice(*span)].strip():
        return True
    return _truth(arithmetic_value(shell, source, *span, strict=False))


def _while_statement(shell: Shell, source: Source, node: Node) -> Status:
    body = next((child for child in node.children if child.type == "do_group"), None)
    tests = [child for child in node.children if child.is_named and child is not body]
    until = bool(node.children) and node.children[0].type == "until"
    if body is None:
        return None

    def test() -> Status:
        status = run_all(shell, source, tests)
        if status is True and tests and not _tests(tests[-1]) and not _decided(tests[-1]):
            status = None
        return status if not until or status is None else not status

    return _while(shell, source, node, body, test, None)


def _while(
    shell: Shell,
    source: Source,
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
    return _rejoin(shell, left, f"where {where} ends is not decided")


def _function(shell: Shell, source: Source, node: Node) -> Status:
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
    _rejoin(shell, left, "a `return` before is not decided")
    shell.positional = before
    for hidden, value in shell.hidden.pop().items():
        if value is None:
            shell.variables.pop(hidden, None)
        else:
            shell.variables[hidden] = value
    return status


def _negated(shell: Shell, source: Source, node: Node) -> Status:
    status = _children(shell, source, node)
    return None if status is None else not status


def _test(shell: Shell, source: Source, node: Node) -> Status:
    text, start, end = source.text, node.start_byte, node.end_byte
    if text.startswith("[[", start):
        return conditions.bracket(shell, source, start + 2, end - 2)
    if text.startswith("((", start):
        return _truth(arithmetic_value(shell, source, start + 2, end - 2, strict=False))
    return conditions.test(shell, source, start + 1, end - 1)


def _pipeline(shell: Shell, source: Source, node: Node) -> Status:
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


def _assignment(shell: Shell, source: Source, node: Node) -> Status:
    assign(shell, source, node)
    return True


def assign(shell: Shell, source: Source, node: Node, exported: bool | None = None) -> str:
    """`NAME=value`, `NAME+=value`, `NAME[index]=value`, `NAME=( ... )`; the name."""
    start, end = node.start_byte, node.end_byte
    text = source.text
    equals = text.find("=", start, end)
    target = text[start : equals if equals >= 0 else end]
    appends = target.endswith("+")
    target = target.removesuffix("+")
    name, bracket, index = target.partition("[")
    array = next((child for child in node.children if child.type == "array"), None)
    if array is not None:
        found = _elements(shell, source, array)
        old = shell.variables.get(name)
        if appends and old is not None:
            before = dict(old.elements) if old.elements is not None else {"0": old.value}
            found = before | {
                key if key not in before else str(len(before) + number): value
                for number, (key, value) in enumerate(found.items())
            }
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


def _assign_element(
    shell: Shell, source: Source, name: str, start: int, end: int, value: Text
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


def _elements(shell: Shell, source: Source, node: Node) -> dict[str, Text]:
    found: dict[str, Text] = {}
    count = 0
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
    return found


def _nothing(shell: Shell, source: Source, node: Node) -> Status:
    return True


def _handlers() -> dict[str, Callable[[Shell, Source, Node], Status]]:
    from .simple import command, declaration, redirected, unset

    return {
        "program": _children,
        "ERROR": _error,
        "list": _list,
        "if_statement": _if,
        "elif_clause": _children,
        "else_clause": _children,
        "case_statement": _case,
        "for_statement": _for,
        "c_style_for_statement": _c_for,
        "while_statement": _while_statement,
        "do_group": _children,
        "function_definition": _function,
        "compound_statement": _compound,
        "subshell": _subshell,
        "pipeline": _pipeline,
        "negated_command": _negated,
        "test_command": _test,
        "variable_assignment": _assignment,
        "variable_assignments": _children,
        "command": command,
        "declaration_command": declaration,
        "redirected_statement": redirected,
        "unset_command": unset,
    }


HANDLERS: dict[str, Callable[[Shell, Source, Node], Status]] = {}
