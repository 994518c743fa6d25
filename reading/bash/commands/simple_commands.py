"""Simple commands, declarations and redirections -> their effect on the state and their output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...facts import Unknown
from ..shell import Shell, Variable, text_key
from ..source import PlacedText
from ..statements.assignments import assign, assignment_end, note
from ..statements.compound_commands import call
from ..statements.control_flow import Status
from ..statements.run_statement import run, run_all
from ..values import Piece, Text, Word, lenient, word
from ..words.word_expansion import joined, pieces, words
from .builtins import BUILTINS
from .launching import launch, trace
from .printing_programs import FILTERS, SILENT

if TYPE_CHECKING:
    from tree_sitter import Node

#: Operators that open a file to write to it.
_OPEN = frozenset({">", ">>", "&>", "&>>", ">|", ">&"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


def command(shell: Shell, source: PlacedText, node: Node) -> Status:
    redirects = [child for child in node.children if child.type in _REDIRECTS]
    if redirects:
        extra = _behind_files(redirects)
        return _with_redirects(
            shell, source, redirects, lambda: _command(shell, source, node, extra)
        )
    return _command(shell, source, node, [])


def _behind_files(redirects: list[Node]) -> list[Node]:
    """Words after the file of a redirection: the grammar takes them for further files, bash for arguments."""
    found: list[Node] = []
    for redirect in redirects:
        if redirect.type == "file_redirect":
            named = [child for child in redirect.children if child.is_named]
            found += [child for child in named if child.type != "file_descriptor"][1:]
    return found


def _command(shell: Shell, source: PlacedText, node: Node, extra: list[Node]) -> Status:
    world, before_words = shell.world, shell.world.read_before
    world.read_before = len(world.reads)
    try:
        return _expanded(shell, source, node, extra)
    finally:
        world.read_before = before_words


def _expanded(shell: Shell, source: PlacedText, node: Node, extra: list[Node]) -> Status:
    prefixes: list[Node] = []
    found: list[Word] = []
    read = 0
    for child in [*node.children, *extra]:
        if not child.is_named or child.type in _REDIRECTS or child.type == "comment":
            continue
        if child.type == "variable_assignment":
            prefixes.append(child)
            read = assignment_end(source, child)
        elif child.start_byte >= read:
            found += words(shell, source, child.start_byte, child.end_byte)
    prefixes = _own_lines(shell, source, node, prefixes)
    if not found:
        for prefix in prefixes:
            assign(shell, source, prefix)
        return True
    before = {}
    for prefix in prefixes:
        name = source.text[prefix.start_byte : prefix.end_byte].partition("=")[0].rstrip("+")
        before[name] = shell.variables.get(name)
        assign(shell, source, prefix, True)
        if name in shell.variables:
            shell.variables[name] = shell.variables[name]._replace(exported=True)
    try:
        return execute(shell, found, source, node.start_byte)
    finally:
        _restore(shell, before)


def _own_lines(shell: Shell, source: PlacedText, node: Node, prefixes: list[Node]) -> list[Node]:
    """Run assignments that end their line, though the grammar joins the next one; the rest is left."""
    children = [child for child in node.children if child.is_named]
    for index in range(len(prefixes) - 1, -1, -1):
        position = children.index(prefixes[index]) + 1
        if position >= len(children):
            continue
        gap = source.text[prefixes[index].end_byte : children[position].start_byte]
        if "\n" in gap.replace("\\\n", ""):
            for prefix in prefixes[: index + 1]:
                assign(shell, source, prefix)
            return prefixes[index + 1 :]
    return prefixes


def _restore(shell: Shell, before: dict[str, Variable | None]) -> None:
    for name, value in before.items():
        if value is None:
            shell.variables.pop(name, None)
        else:
            shell.variables[name] = value


def execute(shell: Shell, found: list[Word], source: PlacedText, offset: int) -> Status:
    """Run an expanded command: a function, a builtin, a launcher, or a program that prints."""
    found = found[_vanishing(found) :]
    if not found:
        return True
    name, place = found[0].text, source.place(offset)
    if isinstance(name, str):
        if name in shell.functions:
            return call(shell, name, [item for item in found[1:] if not _vanishes(item)])
        if name in BUILTINS:
            trace(shell, found, place)
            there = [item for item in found if not _vanishes(item)]
            return BUILTINS[name](shell, source, there)
        if name in FILTERS:
            given = [item for item in found[1:] if not _vanishes(item)]
            output = FILTERS[name](shell, given)
            if output is not None:
                trace(shell, found, place)
                if shell.output is not None:
                    shell.output += output
                return True
    if launch(shell, source, found, place):
        return None
    if shell.output is not None and name not in SILENT:
        shown = " ".join(str(item.lead) for item in found[:6])[:60]
        unknown = Unknown(f"`{shown}` is decided when the script runs")
        shell.output.append(Piece(unknown, *place))
    return None


def _vanishing(found: Sequence[Word]) -> int:
    """How many words at the front vanish; one before `-m` stands for a Python."""
    for index, item in enumerate(found):
        if not _vanishes(item) or (index + 1 < len(found) and found[index + 1].text == "-m"):
            return index
    return len(found)


def _vanishes(item: Word) -> bool:
    """Whether a word consists of unquoted unset variables alone: it then expands to no word."""
    return all(
        piece.split and isinstance(piece.text, Unknown) and bool(piece.text.unset)
        for piece in item.pieces
    )


def declaration(shell: Shell, source: PlacedText, node: Node) -> Status:
    """`export`, `local`, `readonly`, `declare`, `typeset`."""
    keyword = source.text[node.start_byte : node.end_byte].split()[0]
    options, read = "", 0
    for child in node.children:
        if child.type == "variable_assignment":
            _declare(shell, source, child, keyword, options)
            read = assignment_end(source, child)
        elif child.start_byte < read or (child.is_named and child.type in _REDIRECTS):
            continue
        elif child.is_named:
            for item in words(shell, source, child.start_byte, child.end_byte):
                text = item.text
                if isinstance(text, str) and text.startswith("-"):
                    options += text[1:]
                elif isinstance(text, str):
                    _declare_word(shell, item, text, keyword, options)
    return True


def _declare(shell: Shell, source: PlacedText, node: Node, keyword: str, options: str) -> None:
    name = source.text[node.start_byte : node.end_byte].partition("=")[0].rstrip("+")
    _hide(shell, name.partition("[")[0], keyword)
    name = assign(shell, source, node, _exports(keyword, options) or None)
    _export(shell, name, keyword, options)


def _declare_word(shell: Shell, item: Word, text: str, keyword: str, options: str) -> None:
    name, sign, _ = text.partition("=")
    if not name.isidentifier():
        return
    _hide(shell, name, keyword)
    if sign:
        shell.set(name, item.cut(len(name) + 1).pieces)
        place = (item.path, item.line, item.column)
        note(shell, name, place, _exports(keyword, options), len(shell.world.reads))
    elif keyword in ("local", "declare", "typeset") and ("a" in options or "A" in options):
        if name not in shell.variables:
            shell.set_elements(name, {})
    elif keyword == "export" and name not in shell.variables:
        return
    elif name not in shell.variables and keyword == "local":
        shell.set(name, (Piece("", item.path, item.line, item.column),))
    _export(shell, name, keyword, options)
    if not sign and _exports(keyword, options):
        note(shell, name, (item.path, item.line, item.column), True, len(shell.world.reads))


def _hide(shell: Shell, name: str, keyword: str) -> None:
    local = keyword == "local" or (keyword in ("declare", "typeset") and shell.hidden)
    if local and shell.hidden and name not in shell.hidden[-1]:
        shell.hidden[-1][name] = shell.variables.pop(name, None)


def _export(shell: Shell, name: str, keyword: str, options: str) -> None:
    if (keyword == "export" or "x" in options) and name in shell.variables:
        exported = _exports(keyword, options)
        shell.variables[name] = shell.variables[name]._replace(exported=exported)


def _exports(keyword: str, options: str) -> bool:
    return (keyword == "export" or "x" in options) and "n" not in options


def unset(shell: Shell, source: PlacedText, node: Node) -> Status:
    for child in node.children:
        if child.is_named:
            name = source.text[child.start_byte : child.end_byte]
            shell.variables.pop(name, None)
    return True


def redirected(shell: Shell, source: PlacedText, node: Node) -> Status:
    redirects = [child for child in node.children if child.type in _REDIRECTS]
    bodies = [child for child in node.children if child.is_named and child.type not in _REDIRECTS]
    extra = _behind_files(redirects)
    if extra and len(bodies) == 1 and bodies[0].type == "command":
        body = bodies[0]
        return _with_redirects(
            shell, source, redirects, lambda: _command(shell, source, body, extra)
        )
    return _with_redirects(shell, source, redirects, lambda: run_all(shell, source, bodies))


def _with_redirects(
    shell: Shell, source: PlacedText, redirects: list[Node], body: Callable[[], Status]
) -> Status:
    before, opens = shell.stdin, shell.opens
    targets: list[tuple[Text, bool]] = []
    after: list[Node] = []
    for redirect in redirects:
        _redirect(shell, source, redirect, targets, after)
    output = shell.output
    try:
        if not targets and not after:
            return body()
        shell.output = []
        status: Status = body()
        printed = shell.output
    finally:
        shell.output, shell.stdin, shell.opens = output, before, opens
    _write(shell, targets, tuple(printed))
    for node in after:
        shell.stdin = tuple(printed)
        status = run(shell, source, node)
        shell.stdin = before
    return status


def _write(shell: Shell, targets: list[tuple[Text, bool]], printed: Text) -> None:
    for target, appends in targets:
        key = text_key(target)
        shell.world.budget.store(printed)
        shell.files[key] = (*shell.files.get(key, ()), *printed) if appends else printed


def _redirect(
    shell: Shell,
    source: PlacedText,
    node: Node,
    targets: list[tuple[Text, bool]],
    after: list[Node],
) -> None:
    if node.type == "herestring_redirect":
        child = node.children[-1]
        end = Piece("\n", *source.place(child.start_byte))
        shell.stdin = (*joined(shell, source, child.start_byte, child.end_byte), end)
    elif node.type == "heredoc_redirect":
        for child in node.children:
            if child.type in _REDIRECTS:
                _redirect(shell, source, child, targets, after)
            elif child.type in ("pipeline", "list", "command"):
                after.append(child)
        shell.stdin = _heredoc(shell, source, node)
    else:
        _file_redirect(shell, source, node, targets)


def _file_redirect(
    shell: Shell, source: PlacedText, node: Node, targets: list[tuple[Text, bool]]
) -> None:
    operators = {child.type for child in node.children if not child.is_named}
    files = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
    descriptor = next((child for child in node.children if child.type == "file_descriptor"), None)
    if not files or operators & {"<&", ">&-", "<&-"} or files[0].type == "number":
        return
    path = joined(shell, source, files[0].start_byte, files[0].end_byte)
    if str(lenient(path)).startswith("/dev/"):
        return
    if path and operators & _OPEN:
        shell.opens = (*shell.opens, Word(path))
    if "<" in operators:
        found = shell.files.get(text_key(path)) or _file(shell, path)
        shell.stdin = found
    elif ">&" not in operators and (
        descriptor is None or source.text[descriptor.start_byte] == "1"
    ):
        targets.append((path, bool(operators & {">>", "&>>"})))


def _file(shell: Shell, path: Text) -> Text | None:
    found = shell.world.find(path, shell)
    return None if found is None else word(found[1], found[0]).pieces


def _heredoc(shell: Shell, source: PlacedText, node: Node) -> Text:
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    if start is None or body is None:
        return ()
    raw = source.text[start.start_byte : start.end_byte]
    if raw[:1] in ("'", '"', "\\"):
        found = source.pieces(body.start_byte, body.end_byte)
    else:
        found = pieces(shell, source, body.start_byte, body.end_byte, True, True)
    if any(child.type == "<<-" for child in node.children):
        found = [
            piece._replace(text=piece.text.lstrip("\t")) if isinstance(piece.text, str) else piece
            for piece in found
        ]
    return tuple(piece._replace(split=False) for piece in found)
