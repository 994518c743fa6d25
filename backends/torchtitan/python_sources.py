"""parc_job.py -> its settings and its model's sizes, read and never run.

It reads what parc writes: constants of the module, and a function that returns `Trainer.Config(...)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..backend import Unknown
from .sources import Place, Registered, Settings

#: Constants of the module by what models call these sizes.
SIZES = {"n_layers": "LAYERS", "dim": "HIDDEN", "n_heads": "HEADS", "n_kv_heads": "KV_HEADS"}
EXPERTS = "EXPERTS"
FLAVOR = "parc_job"
MODES = {"SelectiveAC": "selective", "FullAC": "full"}


def python_settings(path: str, text: str) -> tuple[Settings, Registered] | None:
    """None when no function of the text returns a `Trainer.Config(...)`; raises SyntaxError for no Python."""
    tree = ast.parse(text)
    call = next(_configurations(tree), None)
    if call is None:
        return None
    values, lines = {"model.flavor": FLAVOR}, {"model.flavor": call.lineno}
    for section, key, node in _settings(call):
        values[f"{section}.{key}"] = _value(node)
        lines.setdefault(section, node.lineno)
        lines[f"{section}.{key}"] = node.lineno
    values["activation_checkpoint.mode"], lines["activation_checkpoint.mode"] = _mode(call)
    return Settings(path, values, lines), _model(path, tree)


def _configurations(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Return(value=ast.Call(func=called) as call):
                if ast.unparse(called) == "Trainer.Config":
                    yield call


def _settings(call: ast.Call) -> Iterator[tuple[str, str, ast.expr]]:
    """Section, key and value of every keyword of a keyword's call."""
    for section in call.keywords:
        if section.arg is not None and isinstance(section.value, ast.Call):
            for setting in section.value.keywords:
                if setting.arg is not None:
                    yield section.arg, setting.arg, setting.value


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Unknown("it is computed")


def _mode(call: ast.Call) -> tuple[str, int]:
    """0.3.0 takes an object for each mode, selective by default (trainer.py)."""
    for keyword in call.keywords:
        if keyword.arg == "activation_checkpoint":
            named = ast.unparse(keyword.value).partition(".")[0]
            return MODES.get(named, "none" if named == "None" else named), keyword.value.lineno
    return "selective", call.lineno


def _model(path: str, tree: ast.Module) -> Registered:
    constants = dict(_constants(tree))
    sizes: dict[str, Any] = {
        name: constants[constant][0] for name, constant in SIZES.items() if constant in constants
    }
    if EXPERTS in constants:
        sizes |= {"moe_enabled": True, "moe_args": {"num_experts": constants[EXPERTS][0]}}
    lines = [constants[constant][1] for constant in SIZES.values() if constant in constants]
    return Registered(sizes, Place(path, min(lines, default=1)))


def _constants(tree: ast.Module) -> Iterator[tuple[str, tuple[Any, int]]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))):
                yield name, (value, statement.lineno)
