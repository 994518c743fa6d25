"""Emitted train.py, ds_config.json and model.json -> the engine that DeepSpeed makes of them, without a GPU.

A case holds `program` (train.py and its arguments), `narrow` (sizes to build the model with), `world` and
`rank`. The program's own functions build the model and start the engine in a fake process group of the true
world: DeepSpeed's arithmetic is real, nothing travels. The model keeps its layers and heads and is narrow, so
that it fits a test.

Stood in for, and so not proven: GPU kernels of Adam, fp16 on this device, collectives, curves.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import forked

os.environ.update(
    DS_ACCELERATOR="cpu", LOCAL_RANK="0", RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1"
)

import deepspeed
import torch
import torch._dynamo  # with the optimizers above what every engine imports, here once for all cases
from deepspeed.ops.op_builder import CPUAdamBuilder, FusedAdamBuilder
from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder
from torch.testing._internal.distributed.fake_pg import FakeStore

#: What an engine imports when it is made, all of it slow: once here instead of in each case. Older releases
#: lack some.
for name in (
    "deepspeed.pipe",
    "deepspeed.runtime.sequence_parallel.parallel_state_sp",
    "deepspeed.runtime.zero.muon.muon_optimizer",
    "transformers.models.llama.modeling_llama",
):
    with suppress(ModuleNotFoundError):
        importlib.import_module(name)


class Watched(dict[str, Any]):
    """A section of ds_config.json that notes which of its keys were looked up, one by one or with `**`."""

    def __init__(self, section: dict[str, Any], read: set[str], path: str = "") -> None:
        super().__init__()
        self._read, self._path = read, path
        for key, value in section.items():
            inner = Watched(value, read, f"{path}{key}.") if isinstance(value, dict) else value
            dict.__setitem__(self, key, inner)

    def _note(self, key: str) -> None:
        self._read.add(self._path + str(key))

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return dict.__getitem__(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if dict.__contains__(self, key) else default

    def pop(self, key: str, *default: Any) -> Any:
        self._note(key)
        return dict.pop(self, key, *default)

    def __iter__(self) -> Iterator[str]:  # its own, so that `**section` asks for each key
        return dict.__iter__(self)

    def keys(self) -> Any:
        return list(dict.keys(self))

    def __copy__(self) -> Watched:
        return self

    def __deepcopy__(self, memo: Any) -> Watched:
        return self


def paths(section: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in dict.items(section):
        yield path + key
        if isinstance(value, dict):
            yield from paths(value, f"{path}{key}.")


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    stand_ins()
    sys.argv = case["program"]
    program = _loaded(Path(case["program"][0]))
    args = program.arguments()
    read: set[str] = set()
    given = json.loads(Path(args.deepspeed_config).read_text())
    settings = Watched(given, read)
    answer["stage"] = "groups"
    _join(case["world"], case["rank"])
    if "sequence_parallel_size" in dict.keys(settings):
        program.sequence_parallel.initialize_sequence_parallel(settings["sequence_parallel_size"])
    answer["stage"] = "model"
    config = _config(Path(args.model), case["narrow"])
    model = program.build(config, settings, torch.device("cpu"))
    answer["stage"] = "engine"
    engine = program.start_engine(model, settings, args.steps)
    answer |= _described(engine)
    if hasattr(program, "Decoder"):
        answer["full_size"] = _full_size(program, Path(args.model))
    answer["unread"] = [
        path
        for path in paths(given)
        if path not in read and not _arrived(engine, given, path.split("."))
    ]
    answer["stage"] = "accepted"


class _Kernels:
    """Adam's kernels: DeepSpeed takes a step without gradients to have the states made. And collectives in
    shared memory, which CPUs alone have, and which nothing calls."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def stand_ins() -> None:
    for builder in (FusedAdamBuilder, CPUAdamBuilder, ShareMemCommBuilder):
        builder.load = lambda self, verbose=True: _Kernels()
    deepspeed.accelerator.get_accelerator().is_fp16_supported = lambda: True
    # Packages that draw curves, which are not installed.
    for package, of in (("tensorboard", "SummaryWriter"), ("wandb", "init")):
        sys.modules[package] = ModuleType(package)
        setattr(sys.modules[package], of, lambda *arguments, **named: None)
    sys.modules["torch.utils.tensorboard"] = sys.modules["tensorboard"]
    # Shared memory between ranks of a node, which would be compiled first.
    vars(sys.modules["deepspeed.comm.torch"])["build_shm_op"] = lambda: None


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("train", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _join(world: int, rank: int) -> None:
    os.environ.update(WORLD_SIZE=str(world), RANK=str(rank))
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    deepspeed.init_distributed(dist_backend="fake", dist_init_required=False)


def _config(path: Path, narrow: dict[str, int]) -> Any:
    return SimpleNamespace(**json.loads(path.read_text()) | narrow)


def _full_size(program: Any, path: Path) -> int:
    """Parameters of the whole model as it is, without memory for them."""
    with torch.device("meta"):
        return _parameters(program.Decoder(_config(path, {})))


def _parameters(model: torch.nn.Module) -> int:
    """Those that this rank holds, before ZeRO divides them."""
    return sum(getattr(each, "ds_numel", each.numel()) for each in model.parameters())


def _arrived(engine: Any, given: dict[str, Any], path: list[str]) -> bool:
    """Whether the value stands in DeepSpeed's own model of the section, which is handed on whole."""
    section, *inner = path
    monitors = engine._config.monitor_config
    models = {name: getattr(monitors, name) for name in ("tensorboard", "wandb", "csv_monitor")}
    model = {"zero_optimization": engine._config.zero_config, **models}.get(section)
    for key in inner:
        given, model = given[section], getattr(model, key, None)
        section = key
    return model is not None and (model == given[section] or hasattr(model, "model_fields"))


def _described(engine: Any) -> dict[str, Any]:
    found = {
        "train_batch": engine.train_batch_size(),
        "micro_batch": engine.train_micro_batch_size_per_gpu(),
        "accumulation": engine.gradient_accumulation_steps(),
        "zero": int(engine.zero_optimization_stage()),
        "optimizer": type(engine.optimizer).__name__,
        "inner": type(engine.basic_optimizer).__name__,
        "parameters": _parameters(engine.module),
        "tp": max(1, engine.autotp_size()) if hasattr(engine, "autotp_size") else 1,
    }
    if hasattr(engine, "grid"):
        found["stages"] = engine.num_stages
        found["dp"] = engine.grid.get_data_parallel_world_size()
        found["blocks"] = sum(
            type(layer).__name__ == "Block" for layer in engine.module.forward_funcs
        )
    elif found["tp"] > 1:
        found["dp"] = engine.dp_world_size
    else:
        found["dp"] = int(engine._config.world_size)
    return found


if __name__ == "__main__":
    forked.main(check)
