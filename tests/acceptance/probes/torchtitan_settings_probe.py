"""torchtitan's own dataclasses and scheduler -> the kinds of its settings, and rates of learning by step.

A case holds the `release`; for rates also `lr`, `steps` and the keys of `lr_scheduler`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from importlib import import_module
from typing import Any

import forked
import torch
import torchtitan_stand_ins as stand_ins

OLD = ("torchtitan.components.quantization", "torchtitan.models.moe")
NEW = ("torchtitan.models.common.token_dispatcher",)
#: Section of 0.3.0 -> where its class is.
CLASSES = {
    "training": "torchtitan.config:TrainingConfig",
    "parallelism": "torchtitan.config:ParallelismConfig",
    "optimizer": "torchtitan.components.optimizer:OptimizersContainer.Config",
    "lr_scheduler": "torchtitan.components.optimizer:LRSchedulersContainer.Config",
    "compile": "torchtitan.config:CompileConfig",
    "comm": "torchtitan.config:CommConfig",
    "checkpoint": "torchtitan.components.checkpointer:CheckpointManager.Config",
    "metrics": "torchtitan.components.metrics:MetricsProcessor.Config",
    "profiler": "torchtitan.tools.profiler:Profiler.Config",
    "validator": "torchtitan.components.validate:Validator.Config",
    "dataloader": "torchtitan.components.dataloader:ParallelAwareDataloader.Config",
    "debug": "torchtitan.config:DebugConfig",
}


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    old = case["release"] == "0.2.2"
    stand_ins.before_import(*(OLD if old else NEW))
    if "steps" in case:
        answer["rates"] = rates(case, old)
    else:
        answer["kinds"] = kinds_of_old() if old else kinds_of_new()
    answer["stage"] = "answered"


def kinds_of_old() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    below("", import_module("torchtitan.config").JobConfig, found)
    return found


def kinds_of_new() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for section, place in CLASSES.items():
        module, _, path = place.partition(":")
        kind: Any = import_module(module)
        for name in path.split("."):
            kind = getattr(kind, name)
        below(section, kind, found)
    return found


def below(section: str, of: Any, found: dict[str, dict[str, str]]) -> None:
    """Kinds of a dataclass's fields, and of those of the dataclasses in it."""
    hints = typing.get_type_hints(of)
    for field in dataclasses.fields(of):
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            below(f"{section}.{field.name}".strip("."), hint, found)
        else:
            found.setdefault(section, {})[field.name] = kind(hint)


def kind(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return "|".join(arguments)
    if origin is list:
        return "list" if arguments[0] is str else "lists"
    if origin in (typing.Union, types.UnionType):
        kinds = {kind(each) for each in arguments if each is not type(None)}
        return next(each for each in ("list", "float", *sorted(kinds)) if each in kinds)
    return str(getattr(hint, "__name__", hint))


def rates(case: dict[str, Any], old: bool) -> list[float]:
    """Of every step, as the trainer's optimizer has them."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizers: Any = [torch.optim.SGD([weight], lr=case["lr"])]
    settings = case["lr_scheduler"]
    if old:
        config = import_module("torchtitan.config").LRScheduler(**settings)
        build = import_module("torchtitan.components.lr_scheduler").build_lr_schedulers
        scheduler = build(optimizers, config, case["steps"])
    else:
        container = import_module("torchtitan.components.optimizer").LRSchedulersContainer
        scheduler = container.Config(**settings).build(
            optimizers=optimizers, training_steps=case["steps"]
        )
    found = []
    for _ in range(case["steps"]):
        found.append(optimizers[0].param_groups[0]["lr"])
        optimizers[0].step()
        scheduler.step()
    return found


if __name__ == "__main__":
    forked.main(check)
