"""torchtitan's own dataclasses -> rows of backends/torchtitan/released_options.csv, as JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torchtitan_stand_ins as stand_ins

#: Section of releases from 0.3 on, whose configuration is a call, to the class that takes its fields.
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
#: What one writes on a command line or in a file; other fields are objects of Python.
WRITTEN = ("int", "float", "bool", "str", "list")


def rows() -> list[dict[str, str]]:
    config = import_module("torchtitan.config")
    whole = getattr(config, "JobConfig", None)
    found = [below("", whole)] if whole else [below(name, of(name)) for name in CLASSES]
    return sorted((row for part in found for row in part), key=lambda row: row["name"])


def of(section: str) -> Any:
    module, _, path = CLASSES[section].partition(":")
    kind: Any = import_module(module)
    for name in path.split("."):
        kind = getattr(kind, name)
    return kind


def below(section: str, kind: Any) -> Iterator[dict[str, str]]:
    """Fields of a dataclass, and of the dataclasses in it."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        name = f"{section}.{field.name}".strip(".")
        if dataclasses.is_dataclass(hints[field.name]):
            yield from below(name, hints[field.name])
        else:
            row = described(hints[field.name])
            if row["kind"] in WRITTEN:
                yield {"name": name, **row, "default": word(default(field))}


def described(hint: Any) -> dict[str, str]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    row = {"kind": getattr(hint, "__name__", str(hint)), "count": "", "choices": ""}
    if origin is typing.Literal:
        return row | {"kind": "str", "choices": "|".join(arguments)}
    if origin is list:
        inner = described(arguments[0])
        return row | {"kind": "list" if inner["count"] else inner["kind"], "count": "*"}
    if origin in (typing.Union, types.UnionType):
        found = [described(each) for each in arguments if each is not type(None)]
        wider = [each for each in found if each["count"] or each["kind"] == "float"]
        return (wider or found)[0]
    return row


def default(field: Any) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def word(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def main(path: str) -> None:
    kernels = ("torchtitan.components.quantization", "torchtitan.models.moe")
    newer = ("torchtitan.models.common.token_dispatcher",)
    try:
        stand_ins.before_import(*kernels)
    except ModuleNotFoundError:
        stand_ins.before_import(*newer)
    with open(path, "w") as out:
        json.dump(rows(), out)


if __name__ == "__main__":
    main(sys.argv[1])
