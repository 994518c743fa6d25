"""parc_job.py -> its settings and its model's sizes, read and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from . import python_config
from .sources import Place, Registered, Settings

#: Constants of the module by what models call these sizes.
SIZES = {"n_layers": "LAYERS", "dim": "HIDDEN", "n_heads": "HEADS", "n_kv_heads": "KV_HEADS"}
EXPERTS = "EXPERTS"
FLAVOR = "parc_job"
#: What 0.3.0 does where nothing is said (trainer.py).
DEFAULTS = {"activation_checkpoint.mode": "selective"}


def python_settings(path: str, text: str) -> tuple[Settings, Registered] | None:
    """None when no function of the text returns a `Trainer.Config(...)`; raises SyntaxError for no Python."""
    configs = python_config.configs(path, text).values()
    found = next((config for config in configs if config.values.get("()") == "Trainer"), None)
    if found is None:
        return None
    values = {**DEFAULTS, **found.values, "model.flavor": FLAVOR}
    return replace(found, values=values), _model(path, ast.parse(text))


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
