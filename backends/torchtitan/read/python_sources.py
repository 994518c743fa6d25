"""The constants of a parc_job.py -> the sizes of the model that it builds, read and never run."""

import ast
from collections.abc import Iterator
from typing import Any

from .sources import Place, Registered

#: Constants of the module by what models call these sizes.
SIZES = {"n_layers": "LAYERS", "dim": "HIDDEN", "n_heads": "HEADS", "n_kv_heads": "KV_HEADS"}
EXPERTS = "EXPERTS"
FLAVOR = "parc_job"


def builds_its_model(module: ast.Module) -> bool:
    """Whether a configuration takes its model from constants beside it, and not from a registered flavor."""
    return {*SIZES.values()} <= dict(_constants(module)).keys()


def models(path: str, text: str) -> dict[str, Registered]:
    """The model that such a module builds, under `FLAVOR`; raises SyntaxError for what is no Python."""
    module = ast.parse(text)
    if not builds_its_model(module):
        return {}
    constants = dict(_constants(module))
    sizes: dict[str, Any] = {name: constants[constant][0] for name, constant in SIZES.items()}
    if EXPERTS in constants:
        sizes |= {"moe_enabled": True, "moe_args": {"num_experts": constants[EXPERTS][0]}}
    line = min(constants[constant][1] for constant in SIZES.values())
    return {FLAVOR: Registered(sizes, Place(path, line))}


def _constants(tree: ast.Module) -> Iterator[tuple[str, tuple[Any, int]]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))):
                yield name, (value, statement.lineno)
