"""A torchtitan 0.3 config module -> its settings under 0.2.2's keys, by its syntax tree; it is not run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....dsl.inputs.budget import Visits
from ....dsl.inputs.documents import python_module
from ....reading.facts import Unknown
from ....reading.python.expressions import LARGEST
from .python_sources import FLAVOR, builds_its_model
from .sources import Place, Settings

#: Values that functions make and statements that they run, a function that others call once for each call.
MOST_VISITS = 300_000
#: Characters of a name that counts as two.
LONG_NAME = 50
#: Fields of Trainer.Config whose class says what 0.2.2 says with a mode.
_RECOMPUTE = {"SelectiveAC": "selective", "FullAC": "full", "MemoryBudgetAC": "memory_budget"}
_CONVERTERS = {
    "Float8LinearConverter": "quantize.linear.float8",
    "MXFP8LinearConverter": "quantize.linear.mx",
}
#: Functions that start from another one: no longer chains than this.
DEEPEST = 8


@dataclass
class _Config:
    """Values by dotted field, with the place of each."""

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def copy(self) -> _Config:
        return _Config(dict(self.values), dict(self.places))


def configs(path: str, text: str) -> dict[str, Settings]:
    """Settings of every function that returns a Trainer.Config. Raises SyntaxError or ValueError."""
    module = python_module(text)
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    family = re.search(r"models/(\w+)/", path)
    reader = _Reader(path, functions, family[1] if family else "", Visits(MOST_VISITS))
    flavor = {"model.flavor": FLAVOR} if builds_its_model(module) else {}
    found = {}
    for name in functions:
        config = reader.returned(name, 0)
        if config is not None:
            found[name] = Settings(path, {**config.values, **flavor}, config.places)
    return found


@dataclass(frozen=True)
class _Reader:
    path: str
    functions: Mapping[str, ast.FunctionDef]
    family: str
    visits: Visits

    def returned(self, name: str, depth: int) -> _Config | None:
        """The config that a function returns, if code without branches makes it."""
        function = self.functions.get(name)
        if function is None or depth > DEEPEST:
            return None
        known: dict[str, Any] = {}
        for statement in function.body:
            self.visits.spend()
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    known[target] = self.value(value, known, depth)
                case ast.Assign(targets=[ast.Attribute() as target], value=value):
                    self.assign(target, self.value(value, known, depth), known)
                case ast.Return(value=ast.expr() as value):
                    result = self.value(value, known, depth)
                    return result if isinstance(result, _Config) else None
                case ast.If() | ast.For() | ast.While() | ast.Try() | ast.With():
                    self.forget(statement, known)
        return None

    def assign(self, target: ast.Attribute, value: Any, known: dict[str, Any]) -> None:
        """`config.training.steps = 10`"""
        names = [target.attr]
        inner: ast.expr = target.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        config = known.get(inner.id) if isinstance(inner, ast.Name) else None
        if isinstance(config, _Config):
            self.put(config, ".".join(reversed(names)), value, target)

    def forget(self, statement: ast.stmt, known: dict[str, Any]) -> None:
        """Makes values unknown that a branch or a loop may set."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    unknown = Unknown(f"it is set in a branch on line {node.lineno}")
                    if isinstance(target, ast.Name):
                        known[target.id] = unknown
                    elif isinstance(target, ast.Attribute):
                        self.assign(target, unknown, known)

    def put(self, config: _Config, key: str, value: Any, node: ast.AST) -> None:
        place = Place(self.path, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)
        for name, told in self.told(key, value):
            config.values[name] = told
            config.places[name] = place
        if isinstance(value, _Config):
            self.visits.spend(len(value.values) * (1 + len(key) // LONG_NAME))
            for name, inner in list(value.values.items()):
                config.values[f"{key}.{name}"] = inner
                config.places[f"{key}.{name}"] = value.places[name]

    def told(self, key: str, value: Any) -> Iterator[tuple[str, Any]]:
        if key == "activation_checkpoint":
            kind = value.values.get("()") if isinstance(value, _Config) else value
            mode = "none" if value is None else _RECOMPUTE.get(str(kind), Unknown("it is computed"))
            yield "activation_checkpoint.mode", mode
        elif key == "model_spec" and isinstance(value, _Config):
            yield "model.name", self.family
            yield "model.flavor", value.values.get("0", Unknown("it is computed"))
            kinds = value.values.get("converters", [])
            yield "model.converters", [
                _CONVERTERS.get(str(kind), str(kind)) for kind in kinds or []
            ]
        elif not isinstance(value, _Config):
            yield key, value

    def value(self, node: ast.expr, known: Mapping[str, Any], depth: int) -> Any:
        if isinstance(node, ast.Call):
            return self.called(node, known, depth)
        if isinstance(node, ast.Name) and node.id in known:
            return known[node.id]
        if isinstance(node, ast.List | ast.Tuple):
            return [self.item(item, known, depth) for item in node.elts]
        return _literal(node)

    def item(self, node: ast.expr, known: Mapping[str, Any], depth: int) -> Any:
        value = self.value(node, known, depth)
        return value.values.get("()", "") if isinstance(value, _Config) else value

    def called(self, node: ast.Call, known: Mapping[str, Any], depth: int) -> Any:
        name = ast.unparse(node.func)
        if name in self.functions:
            inner = self.returned(name, depth + 1)
            self.visits.spend(len(inner.values) if inner is not None else 1)
            return inner.copy() if inner is not None else Unknown(f"`{name}` is not followed")
        config = _Config({"()": name.removesuffix(".Config").rpartition(".")[2]})
        config.places["()"] = Place(self.path, node.lineno)
        for index, argument in enumerate(node.args):
            self.put(config, str(index), self.value(argument, known, depth), argument)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self.put(config, keyword.arg, self.value(keyword.value, known, depth), keyword)
        return config


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, two = _literal(left), _literal(right)
            if isinstance(one, int) and isinstance(two, int) and abs(one * two) < LARGEST:
                return one * two
            return Unknown("it is computed")
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return Unknown("it is computed")
