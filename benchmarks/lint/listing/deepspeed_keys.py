"""DeepSpeed's code that reads ds_config.json -> the keys that it looks up, a row each.

The dictionary is followed from `DeepSpeedConfig` through the functions, classes and pydantic models that it
or a section of it is handed to. Keys are named by constants, which stand in a `constants.py` beside them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeAlias

from .argparse_options import Row, constant
from .class_fields import classes_of, fields_of, rows_of

Function: TypeAlias = ast.FunctionDef
#: Sections of sections are looked at to this depth.
_DEPTH = 4
_PARAMETERS = ("get_scalar_param", "get_dict_param", "get_list_param")
_COPIES = ("copy", "deepcopy")
_SCALARS = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}


@dataclass
class Code:
    """The modules that read a configuration; `texts` by path, the one of `DeepSpeedConfig` first."""

    texts: Mapping[str, str]
    rows: dict[str, Row] = field(default_factory=dict)
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}
        self.classes = classes_of(*self.texts.values())
        self.constants = {path: _constants(tree) for path, tree in self.trees.items()}
        self.functions: dict[str, list[tuple[str, Function]]] = {}
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    self.functions.setdefault(node.name, []).append((path, node))

    def constant(self, path: str, node: ast.expr) -> object:
        """A constant, or the value of a name: of the module, of `constants.py` beside it, of any."""
        if not isinstance(node, ast.Name):
            return constant(node)
        beside = str(PurePosixPath(path).with_name("constants.py"))
        tables = (self.constants[path], self.constants.get(beside, {}), *self.constants.values())
        return next((table[node.id] for table in tables if node.id in table), None)

    def definitions(self, path: str, name: str) -> Iterable[tuple[str, Function]]:
        """Functions that a call of a name runs: a class's `__init__`, or a function, its module's first."""
        if name in self.classes:
            return [each for each in _methods(self, name) if each[1].name == "__init__"]
        found = self.functions.get(name, [])
        return [each for each in found if each[0] == path][:1] or found[:1]


@dataclass(frozen=True)
class Scope:
    """Inside a function of a module: what is written for a section -> the section's name, empty for the whole
    configuration, and what is written for a key -> the keys that it may be."""

    path: str
    sections: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def keys(self, code: Code, node: ast.expr) -> tuple[str, ...]:
        if (known := self.words.get(ast.unparse(node))) is not None:
            return known
        value = code.constant(self.path, node)
        return (value,) if isinstance(value, str) else ()

    def identity(self) -> tuple[object, ...]:
        return (self.path, *sorted(self.sections.items()), *sorted(self.words.items()))


def keys(texts: Mapping[str, str]) -> list[Row]:
    """The rows of one release, by name."""
    code = Code(texts)
    for path, function in _methods(code, "DeepSpeedConfig"):
        named = "param_dict" if function.name == "_initialize_params" else "self._param_dict"
        _follow(code, function, Scope(path, {named: ""}))
    return [{"name": name, **row} for name, row in sorted(code.rows.items())]


def _constants(tree: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = constant(node.value)
    return found


def _methods(code: Code, name: str) -> Iterator[tuple[str, Function]]:
    for path, tree in code.trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield from ((path, each) for each in node.body if isinstance(each, Function))


def _follow(code: Code, function: Function, scope: Scope) -> None:
    """Note every key that a function looks up, and follow the sections that it hands on."""
    key = (function.name, function.lineno, *scope.identity())
    if key in code.seen or any(name.count(".") >= _DEPTH for name in scope.sections.values()):
        return
    code.seen.add(key)
    for node in _in_order(function):
        scope = _bind(code, node, scope)
        if isinstance(node, ast.expr):
            _look_up(code, node, scope)
        if isinstance(node, ast.Call):
            _hand_on(code, node, scope)


def _in_order(function: Function) -> list[ast.AST]:
    nodes = [node for node in ast.walk(function) if hasattr(node, "lineno")]
    return sorted(
        nodes, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    )


def _bind(code: Code, node: ast.AST, scope: Scope) -> Scope:
    """The scope behind `name = section`, or inside `for key in [KEY, OTHER]`."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        section = _section(code, node.value, scope)
        if section is not None:
            return replace(
                scope, sections={**scope.sections, ast.unparse(node.targets[0]): section}
            )
    if isinstance(node, ast.For) and isinstance(node.iter, ast.List | ast.Tuple):
        words = tuple(key for each in node.iter.elts for key in scope.keys(code, each))
        return replace(scope, words={**scope.words, ast.unparse(node.target): words})
    return scope


def _section(code: Code, node: ast.expr, scope: Scope) -> str | None:
    """The section that an expression is: a known name, `section[KEY]`, `section.get(KEY, ...)`, a copy, a
    selection of its keys, or what a function returns."""
    if (known := scope.sections.get(ast.unparse(node))) is not None:
        return known
    if isinstance(node, ast.IfExp):
        return _section(code, node.body, scope)
    if isinstance(node, ast.DictComp):
        return next((_section(code, outer, scope) for outer, _ in _lookups(node.value)), None)
    for outer, key in _lookups(node):
        section, words = _section(code, outer, scope), scope.keys(code, key)
        if section is not None and words:
            return f"{section}.{words[0]}".strip(".")
    return _returned(code, node, scope) if isinstance(node, ast.Call) else None


def _returned(code: Code, call: ast.Call, scope: Scope) -> str | None:
    if _called(call) in _COPIES:
        return _section(code, call.args[0], scope) if call.args else None
    for where, function in code.definitions(scope.path, _called(call)):
        inner = _inside(code, call, where, function, scope)
        values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        if inner.sections and function.name != "__init__":
            found = (_section(code, value, inner) for value in values if value is not None)
            return next((section for section in found if section), None)
    return None


def _lookups(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Dictionary and key of `d[k]`, `d.get(k)`, `k in d`, `k in d.keys()` and `get_scalar_param(d, k)`."""
    if isinstance(node, ast.Subscript):
        yield node.value, node.slice
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield _without_keys(node.comparators[0]), node.left
    elif isinstance(node, ast.Call) and node.args:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            yield node.func.value, node.args[0]
        elif _called(node) in _PARAMETERS and len(node.args) > 1:
            yield node.args[0], node.args[1]


def _without_keys(node: ast.expr) -> ast.expr:
    function = node.func if isinstance(node, ast.Call) else None
    return function.value if isinstance(function, ast.Attribute) else node


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))


def _look_up(code: Code, node: ast.expr, scope: Scope) -> None:
    for outer, key in _lookups(node):
        section = _section(code, outer, scope)
        for name in scope.keys(code, key) if section is not None else ():
            row = code.rows.setdefault(f"{section}.{name}".strip("."), {"kind": "", "default": ""})
            default = _default(code, node, key, scope)
            if default is not None and not row["kind"]:
                row["kind"] = _SCALARS.get(type(default), "object")
                row["default"] = default if isinstance(default, str) else json.dumps(default)


def _default(code: Code, node: ast.expr, key: ast.expr, scope: Scope) -> object:
    """The default of a look-up: its last argument."""
    given = node.args[-1] if isinstance(node, ast.Call) and node.args else None
    return None if given is None or given is key else code.constant(scope.path, given)


def _hand_on(code: Code, call: ast.Call, scope: Scope) -> None:
    """To a function or a class of this code, or spread into a model of pydantic."""
    name = _called(call)
    for each in (each.value for each in call.keywords if each.arg is None):
        section = _section(code, each, scope)
        if section is not None and name in code.classes:
            _model(code, name, section)
    if name in _PARAMETERS:
        return
    for where, function in code.definitions(scope.path, name):
        inner = _inside(code, call, where, function, scope)
        if inner.sections:
            _follow(code, function, inner)


def _model(code: Code, name: str, section: str) -> None:
    model = code.classes[name]
    if not any(fields_of(model, code.classes)):
        return
    if section:
        code.rows.setdefault(section, {})["kind"] = "section"
    for row in rows_of(model, code.classes, section):
        code.rows[row.pop("name")] = row


def _inside(code: Code, call: ast.Call, path: str, function: Function, scope: Scope) -> Scope:
    """The scope of a called function: which of its parameters are sections, and which are keys."""
    parameters = [each for each in function.args.args if each.arg not in ("self", "cls")]
    names, defaults = [each.arg for each in parameters], function.args.defaults
    behind = names[len(names) - len(defaults) :]
    given = {
        name: Scope(path, {}).keys(code, value)
        for name, value in zip(behind, defaults, strict=True)
    }
    sections = {}
    arguments = [
        *zip(names, call.args, strict=False),
        *((each.arg or "", each.value) for each in call.keywords),
    ]
    for name, argument in arguments:
        section = _section(code, argument, scope)
        if section is not None and name:
            sections[name] = section
        elif words := scope.keys(code, argument):
            given[name] = words
    return Scope(path, sections, {name: words for name, words in given.items() if words})
