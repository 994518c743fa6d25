"""A torchtitan configuration -> what its block says of kernels and traffic."""

import ast
from collections.abc import Iterator
from typing import Any

from ....dsl.inputs.documents import python_module
from ....reading.facts import LaunchConfig, Setting, text_of, texts_of
from ...described import known
from ...release_check import written_release
from ..releases import RELEASES
from . import python_sources
from .sources import registered
from .spelling import ORDERS

TARGET = "torchtitan"
#: Where each release has the switch.
OVERLAPS = tuple(
    f"{section}.enable_async_tensor_parallel"
    for section in ("parallelism", "compile", "experimental", "training")
)
#: Schedules that a block has to ask for. 1F1B is what it has where backward passes are not divided.
SAID = {name: order for name, order in ORDERS.items() if order != "1f1b"}
#: What torch.compile takes unless told (config/job_config.py, config/configs.py).
COMPONENTS = ("model", "loss")


def stack(config: LaunchConfig) -> dict[str, Any]:
    """Settings of the block that differ from what the release does by itself."""
    compiled = components(config)
    overlapped = any(_text(_setting(config, key)) == "True" for key in OVERLAPS)
    recipe = _text(_setting(config, "quantize.linear.float8.recipe_name"))
    schedule = _text(_setting(config, "parallelism.pipeline_parallel_schedule")) or ""
    return known(
        schedule=SAID.get(schedule.lower()),
        cp_comm=_rotation(config),
        attention_kernel=_attention(config),
        loss_kernel=_loss("model" in compiled, "loss" in compiled),
        tp_overlap=True if overlapped else None,
        fp8_recipe=recipe,
        cuda_graph=False if _without_graphs(config) else None,
    )


def _rotation(config: LaunchConfig) -> str | None:
    """PyTorch's all-to-all sends blocks of keys to the next rank: a ring. Releases without it ignore the
    word, and a file's own line tells its release."""
    method = _text(_setting(config, "parallelism.context_parallel_rotate_method"))
    version = written_release(config, TARGET)
    known_release = RELEASES.get(version or "")
    around = method == "alltoall" and known_release is not None and known_release.rotates
    return "p2p" if around and (config.number("cp") or 1) > 1 else None


def components(config: LaunchConfig) -> tuple[str, ...]:
    """Components that are compiled: none, the model's blocks, the loss."""
    if _text(_setting(config, "compile.enable")) != "True":
        return ()
    given = _setting(config, "compile.components")
    return COMPONENTS if given is None else tuple(texts_of(given))


def _setting(config: LaunchConfig, key: str) -> Setting | None:
    """In TOML, in Python or on the command line, which counts."""
    for scope, name in (("argument", f"--{key}"), ("toml", key), ("python", key)):
        if (found := config.setting(scope, name)) is not None:
            return found
    return None


def _text(setting: Setting | None) -> str | None:
    """A setting's value; an option of the command without any is a switch that is on."""
    bare = setting is not None and setting.scope == "argument" and not setting.values
    return "True" if bare else text_of(setting)


def _loss(model: bool, loss: bool) -> str | None:
    if model == loss:
        return None
    return "fused" if loss else "eager"


def _without_graphs(config: LaunchConfig) -> bool:
    """Switched off where the layout could be one."""
    if _text(_setting(config, "training.disable_cuda_graphs")) != "True":
        return False
    degrees = ("parallelism.pipeline_parallel_degree", "parallelism.expert_parallel_degree")
    return all(_text(_setting(config, key)) in (None, "1") for key in degrees)


def _attention(config: LaunchConfig) -> str | None:
    for path, text in config.texts.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = python_module(text)
            models = {**registered(path, text), **python_sources.models(path, text)}
        except (SyntaxError, ValueError):
            continue
        if "FLASH_ATTENTION" in _first_backend(tree):
            return "fa2"
        chosen = text_of(config.setting("toml", "model.flavor")) or python_sources.FLAVOR
        if (model := models.get(chosen)) is not None:
            kernel = model.arguments.get(python_sources.KERNEL)
            plain = "flex" if chosen == python_sources.FLAVOR else None
            own = kernel if kernel is not None else _flex(model.arguments, model.kind)
            return None if own == plain else own
    return None


def _flex(arguments: Any, kind: str) -> str | None:
    """0.2.2's gpt_oss has no other."""
    asked = arguments.get("attn_type") == "flex" or arguments.get("use_flex_attn") is True
    return "flex" if asked and kind != "GptOssModelArgs" else None


def _first_backend(tree: ast.Module) -> str:
    """The kernel that a list of PyTorch's asks for first."""
    return next(_backends(tree), "")


def _backends(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Attribute(attr="sdpa_backends")], value=ast.List(elts=[first, *_])
            ):
                yield ast.unparse(first)
