"""The constants of a parc_job.py -> the model that it builds, read and never run."""

import ast
from collections.abc import Iterator
from typing import Any

from ....dsl.inputs.documents import python_module
from .sources import Place, Registered

#: Constants of the module by what models call these sizes.
SIZES = {"n_layers": "LAYERS", "dim": "HIDDEN", "n_heads": "HEADS", "n_kv_heads": "KV_HEADS"}
OTHERS = {
    "vocab_size": "VOCABULARY",
    "head_dim": "HEAD_SIZE",
    "ffn": "FFN",
    "num_experts": "EXPERTS",
    "top_k": "TOP_K",
    "expert_ffn": "EXPERT_FFN",
}
#: Arguments of calls, whatever they call: no two of a model's have the same name.
ARGUMENTS = {
    "eps": "norm_eps",
    "theta": "rope_theta",
    **{
        name: name
        for name in (
            "scaling", "scaling_factor", "low_freq_factor", "high_freq_factor",
            "original_max_position_embeddings", "score_func", "route_norm", "route_scale",
            "num_expert_groups", "num_limited_groups", "load_balance_coeff", "enable_weight_tying",
        )
    },
}  # fmt: skip
SHARED = "SHARED_FFN"
#: The argument of torchtitan's `get_attention_config`, under the name of its setting.
KERNEL = "attention_kernel"
FLAVOR = "parc_job"
#: The function that holds the training, and nothing of the model.
TRAINING = "train"


def builds_its_model(module: ast.Module) -> bool:
    """Whether a configuration takes its model from constants beside it, and not from a registered flavor."""
    return {*SIZES.values()} <= dict(_constants(module)).keys()


def models(path: str, text: str) -> dict[str, Registered]:
    """The model that such a module builds, under `FLAVOR`; raises SyntaxError for what is no Python."""
    module = python_module(text)
    if not builds_its_model(module):
        return {}
    lines = dict(_constants(module))
    constants = {name: value for name, (value, _) in lines.items()}
    arguments = {
        name: constants[constant]
        for name, constant in (SIZES | OTHERS).items()
        if constant in constants
    }
    arguments |= dict(_arguments(module)) | _experts(constants)
    line = min(lines[constant][1] for constant in SIZES.values())
    return {FLAVOR: Registered(arguments, Place(path, line), FLAVOR, constants)}


def _experts(constants: dict[str, Any]) -> dict[str, Any]:
    """In the words of 0.2.2 too, by which facts are read."""
    if "EXPERTS" not in constants:
        return {}
    shared = constants.get(SHARED, 0) // (constants.get("EXPERT_FFN") or 1)
    experts = {"num_experts": constants["EXPERTS"]}
    return {"moe_enabled": True, "moe_args": experts, "num_shared_experts": shared}


def _arguments(module: ast.Module) -> Iterator[tuple[str, Any]]:
    for function in module.body:
        if not isinstance(function, ast.FunctionDef) or function.name == TRAINING:
            continue
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            match call:
                case ast.Call(
                    func=ast.Name(id="get_attention_config"), args=[ast.Constant(value=kernel)]
                ):
                    yield KERNEL, kernel
            for keyword in call.keywords:
                if keyword.arg == "qk_norm":
                    yield "qk_norm", True
                elif keyword.arg in ARGUMENTS and isinstance(keyword.value, ast.Constant):
                    yield ARGUMENTS[keyword.arg], keyword.value.value


def _constants(tree: ast.Module) -> Iterator[tuple[str, tuple[Any, int]]]:
    """Numbers; a name for another constant has its value, and what is computed has none."""
    known: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as value)
            ):
                known[name] = value
                yield name, (value, statement.lineno)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if (
                other in known
            ):
                yield name, (known[other], statement.lineno)
