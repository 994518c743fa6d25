"""Every regular expression of the product, read from its source: pattern, flags and use."""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from parc.dsl.syntax import tables
from tests.support.paths import ROOT

#: The folders of the product. Tests and benchmarks read nothing that a stranger sends.
ROOMS = (
    "dsl", "compiler", "backends", "cli", "lint", "reading", "calibrate", "smoke", "report", "serve", "lsp",
)  # fmt: skip
#: Stands for a part of a pattern that only a run knows: a name of a file, a variable.
SAMPLE = "a"
#: Functions of `re` by what they do with a text; `finditer` stands for all that look for every match.
METHODS: Mapping[str, str] = {
    "search": "search", "match": "match", "fullmatch": "fullmatch", "finditer": "finditer",
    "sub": "finditer", "subn": "finditer", "split": "finditer", "findall": "finditer",
}  # fmt: skip
#: Calls that are followed back to where a pattern comes from.
DEEPEST = 3
#: Functions of other libraries that search a text for the pattern that is their first argument.
SEARCHERS = {"highlight_regex"}

#: What a pattern is given as.
Given: TypeAlias = str | bytes | re.Pattern[Any]


@dataclass(frozen=True)
class Site:
    """A pattern and its uses; `place` is the file and line where it is written."""

    pattern: str | bytes
    flags: int
    methods: frozenset[str]
    place: str


@dataclass(frozen=True)
class Unread:
    """A pattern that is known only while parc runs."""

    source: str
    place: str


class Room:
    """A module of the product: its source as a tree that knows each node's parent, and its names."""

    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT).as_posix()
        self.tree = ast.parse(path.read_text())
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self.names = vars(imported(path))

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.Lambda | None:
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef | ast.Lambda):
            above = self.parents.get(above)
        return above

    def place(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 0)}"


def imported(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "cli" else parts
    return importlib.import_module(".".join(["parc", *parts]).removesuffix(".__init__"))


@cache
def rooms() -> tuple[Room, ...]:
    paths = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return tuple(Room(path) for path in paths if path.name != "__main__.py")


def _calls() -> Iterator[tuple[Room, ast.Call]]:
    for room in rooms():
        for node in ast.walk(room.tree):
            if isinstance(node, ast.Call):
                yield room, node


@cache
def _called() -> Mapping[str, Sequence[tuple[Room, ast.Call]]]:
    """Calls by the last name of what is called."""
    found = defaultdict(list)
    for room, call in _calls():
        found[_last_name(call.func)].append((room, call))
    return found


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Evaluation:
    """What an expression for a pattern can be."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def texts(self, room: Room, node: ast.expr) -> list[Given] | None:
        """None where only a run can tell."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str | bytes) else None
        if isinstance(node, ast.JoinedStr):
            return self._joined(room, node)
        if isinstance(node, ast.IfExp):
            return self._all(room, [node.body, node.orelse])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            pairs = itertools.product(
                *(self.texts(room, each) or [SAMPLE] for each in (node.left, node.right))
            )
            return ["".join(map(str, pair)) for pair in pairs]
        if isinstance(node, ast.Name):
            return self._of_name(room, node)
        return _text_value(room, node)

    def _joined(self, room: Room, node: ast.JoinedStr) -> list[Given]:
        parts = []
        for each in node.values:
            inner = each.value if isinstance(each, ast.FormattedValue) else each
            found = self.texts(room, inner)
            parts.append([str(text) for text in found] if found else [SAMPLE])
        return ["".join(chosen) for chosen in itertools.islice(itertools.product(*parts), 8)]

    def _all(self, room: Room, nodes: Sequence[ast.expr]) -> list[Given] | None:
        found = [text for node in nodes for text in self.texts(room, node) or ()]
        return found or None

    def _of_name(self, room: Room, node: ast.Name) -> list[Given] | None:
        function = room.function(node)
        if isinstance(function, ast.FunctionDef):
            key = (room.place(function), node.id)
            if key in self.seen or len(self.seen) >= DEEPEST:
                return None
            self.seen.add(key)
            try:
                if given := [
                    each.value
                    for each in ast.walk(function)
                    if isinstance(each, ast.Assign | ast.NamedExpr)
                    and node.id in [_last_name(to) for to in _targets(each)]
                ]:
                    return self._all(room, given)
                names = [each.arg for each in function.args.args]
                if node.id in names:
                    return self._of_parameter(function, names, node.id)
                if looped := _loop_over(function, node.id):
                    return self._of_loop(room, *looped, node.id)
            finally:
                self.seen.discard(key)
        return _text_value(room, node)

    def _of_parameter(
        self, function: ast.FunctionDef, names: list[str], name: str
    ) -> list[Given] | None:
        at = names.index(name) - (names[0] in ("self", "cls"))
        found: list[Given] = []
        for room, call in _called()[function.name]:
            by_name = [each.value for each in call.keywords if each.arg == name]
            for given in by_name or call.args[at : at + 1]:
                found += self.texts(room, given) or ()
        return found or None

    def _of_loop(
        self, room: Room, target: ast.expr, over: ast.expr, name: str
    ) -> list[Given] | None:
        values = _value(room, over, any_kind=True)
        if not values:
            return None
        found: list[Given] = []
        for each in values[0]:
            found += [
                part for part in _parts(target, each, name) if isinstance(part, str | re.Pattern)
            ]
        return found or None


def _targets(node: ast.Assign | ast.NamedExpr) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _loop_over(function: ast.FunctionDef, name: str) -> tuple[ast.expr, ast.expr] | None:
    for each in ast.walk(function):
        if isinstance(each, ast.For | ast.comprehension) and name in _bound(each.target):
            return each.target, each.iter
    return None


def _bound(target: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _parts(target: ast.expr, value: Any, name: str) -> Iterator[Any]:
    if isinstance(target, ast.Name):
        if target.id == name:
            yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, tuple):
        for inner, each in zip(target.elts, value, strict=False):
            yield from _parts(inner, each, name)


def _value(room: Room, node: ast.expr, any_kind: bool = False) -> Any:
    """The one value of an expression of names of the module; None if it has others."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    bound = {
        each.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.comprehension)
        for each in ast.walk(inner.target)
        if isinstance(each, ast.Name)
    }
    if any(name not in room.names and not hasattr(builtins, name) for name in names - bound):
        return None
    try:
        found = eval(compile(ast.Expression(node), room.path, "eval"), dict(room.names))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NameError,
        SyntaxError,
        TypeError,
        ValueError,
    ):
        return None
    return [found] if any_kind or isinstance(found, str | bytes | re.Pattern) else None


def _text_value(room: Room, node: ast.expr) -> list[Given] | None:
    found: list[Given] | None = _value(room, node)
    return found


def _flags(room: Room, call: ast.Call, at: int) -> int:
    given = [each.value for each in call.keywords if each.arg == "flags"] or call.args[at : at + 1]
    found = _value(room, given[0], any_kind=True) if given else None
    return int(found[0]) if found else 0


@cache
def _used_as() -> Mapping[str, frozenset[str]]:
    """What is done with patterns of a name, of a variable or a field: `NAME.search(`; by `path:NAME` what one
    module does."""
    found = defaultdict(set)

    def said(room: Room, node: ast.expr, method: str) -> None:
        found[_last_name(node)].add(method)
        found[f"{room.path}:{_last_name(node)}"].add(method)

    for room, call in _calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
            said(room, call.func.value, METHODS[call.func.attr])
        for given in (*call.args, *(each.value for each in call.keywords)):
            # Passed on: `any(map(P.search, lines))`, or to a function that does what it likes.
            if isinstance(given, ast.Attribute) and given.attr in METHODS:
                said(room, given.value, METHODS[given.attr])
            elif isinstance(given, ast.Name) and isinstance(room.names.get(given.id), re.Pattern):
                said(room, given, "finditer")
    return {name: frozenset(methods) for name, methods in found.items()}


def _methods(room: Room, call: ast.Call) -> frozenset[str]:
    """How `re.compile(...)` is used: at once, or by the name it is given."""
    parent = room.parents.get(call)
    if isinstance(parent, ast.Attribute) and parent.attr in METHODS:
        return frozenset({METHODS[parent.attr]})
    name = ""
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        name = _last_name(parent.targets[0])
    elif isinstance(parent, ast.NamedExpr | ast.AnnAssign):
        name = _last_name(parent.target)
    elif isinstance(parent, ast.keyword):
        name = parent.arg or ""
    function = room.function(call)
    if function and not isinstance(parent, ast.keyword):
        within = {
            METHODS[each.attr]
            for each in ast.walk(function)
            if isinstance(each, ast.Attribute) and _last_name(each.value) == name
            if each.attr in METHODS
        }
        return frozenset(within) or frozenset({"finditer"})
    if name.startswith("_"):
        return _used_as().get(f"{room.path}:{name}") or frozenset({"finditer"})
    return _used_as().get(name) or frozenset({"finditer"})


def sites() -> Iterator[Site | Unread]:
    for room, call in _calls():
        name = _last_name(call.func)
        of_re = isinstance(call.func, ast.Attribute) and _last_name(call.func.value) == "re"
        if of_re and name == "compile":
            methods, at = _methods(room, call), 1
        elif of_re and name in METHODS:
            methods = frozenset({METHODS[name]})
            at = {"sub": 4, "subn": 4, "split": 3}.get(name, 2)
        elif name in SEARCHERS:
            methods, at = frozenset({"finditer"}), 9
        else:
            continue
        texts = Evaluation().texts(room, call.args[0])
        if texts is None:
            yield Unread(ast.unparse(call.args[0]), room.place(call))
        for text in texts or ():
            if isinstance(text, re.Pattern):
                yield Site(text.pattern, text.flags, methods, room.place(call))
            else:
                yield Site(text, _flags(room, call, at), methods, room.place(call))


def terminals() -> Iterator[Site]:
    """The words of a job file, which the lexer matches one behind the other, and patterns in tables."""
    for each in tables.parser(None).terminals:
        yield Site(each.pattern.to_regexp(), 0, frozenset({"match"}), "dsl/syntax/grammar.lark")
    for room in rooms():
        for name, value in room.names.items():
            for pattern in _patterns(value, 3):
                methods = _used_as().get(f"{room.path}:{name}") or frozenset({"finditer"})
                if not isinstance(value, re.Pattern):
                    yield Site(pattern.pattern, pattern.flags, methods, f"{room.path}:{name}")


def _patterns(value: object, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        yield from (found for each in value.values() for found in _patterns(each, depth - 1))
    elif depth and isinstance(value, tuple | list | frozenset):
        yield from (found for each in value for found in _patterns(each, depth - 1))
