"""ds_config.json, and parc's model.json, train.py and launch.sh, any of them -> the facts they state."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...compiler.plan import OFFLOAD
from ..backend import Fact, LaunchConfig, Unknown, Value
from ..command import launcher_options
from ..shell import read_script

Json = dict[str, Any]


def read(files: Mapping[str, str]) -> LaunchConfig:
    """The facts of the files together; what one file cannot say alone (world, nodes) follows from several."""
    found: list[Fact] = []
    unread: list[str] = []
    for path, text in sorted(files.items()):
        try:
            found += _READERS[path.rpartition(".")[2]](path, text)
        except KeyError:
            unread.append(f"{path}: not a DeepSpeed file")
        except ValueError as error:
            unread.append(f"{path}: {error}")
    return LaunchConfig("deepspeed", (*found, *_together(found)), tuple(unread))


def _json(path: str, text: str) -> Iterator[Fact]:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    if "hidden" in values and "layers" in values:
        yield from _model(path, text, values)
    else:
        yield from _config(path, text, values)


@dataclass(frozen=True)
class _Key:
    """Where a fact stands in ds_config.json, and what DeepSpeed takes when it is absent (None: no fact)."""

    fact: str
    keys: tuple[str, ...]
    default: Value | None


_CONFIG = (
    _Key("gbs", ("train_batch_size",), None),
    _Key("mbs", ("train_micro_batch_size_per_gpu",), None),
    _Key("microbatches", ("gradient_accumulation_steps",), None),
    _Key("zero_stage", ("zero_optimization", "stage"), 0),
    _Key("hpz", ("zero_optimization", "zero_hpz_partition_size"), 1),
    _Key("ulysses_sp", ("sequence_parallel_size",), 1),
    _Key("tp", ("tensor_parallel", "autotp_size"), None),
)
_MODEL = ("layers", "hidden", "heads", "kv_heads", "seq_len")


def _config(path: str, text: str, values: Json) -> Iterator[Fact]:
    for key in _CONFIG:
        value = _lookup(values, key.keys)
        if value is None:
            value = key.default
        if key.fact == "gbs":
            value = _samples(value, _lookup(values, ("tensor_parallel", "autotp_size")))
        if value is not None:
            yield Fact(key.fact, _number(value), path, *_place(text, key.keys))
    yield _offload(path, text, values)
    yield _precision(path, text, values)


def _samples(batch: Any, tp: Any) -> Any:
    """Samples of a step: DeepSpeed counts those that AutoTP's ranks share once for each."""
    if isinstance(batch, int) and isinstance(tp, int) and tp > 1 and batch % tp == 0:
        return batch // tp
    return batch


def _number(value: Any) -> Value | Unknown:
    if value == "auto":
        return Unknown('"auto" is filled in by the Hugging Face Trainer')
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool | int | float | str):
        return value
    return Unknown(f"{json.dumps(value)} is not a number")


def _offload(path: str, text: str, values: Json) -> Fact:
    weights = ("zero_optimization", "offload_param", "device")
    optimizer = ("zero_optimization", "offload_optimizer", "device")
    devices = {keys: _lookup(values, keys) or "none" for keys in (weights, optimizer)}
    if devices[weights] != "none":
        return Fact("offload", OFFLOAD[2], path, *_place(text, weights))
    level = int(devices[optimizer] != "none")
    return Fact("offload", OFFLOAD[level], path, *_place(text, optimizer))


def _precision(path: str, text: str, values: Json) -> Fact:
    for name in ("bf16", "fp16"):
        if _lookup(values, (name, "enabled")) is True:
            return Fact("precision", name, path, *_place(text, (name, "enabled")))
        if _lookup(values, (name, "enabled")) == "auto":
            return Fact("precision", _number("auto"), path, *_place(text, (name, "enabled")))
    return Fact("precision", "fp32", path, 1)


def _lookup(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _place(text: str, keys: tuple[str, ...]) -> tuple[int, int]:
    """Line and column of the innermost of nested keys that the text has; the start when it has none."""
    position = 0
    for key in keys:
        match = re.compile(rf'"{re.escape(key)}"\s*:').search(text, position)
        if match is None:
            break
        position = match.start()
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _model(path: str, text: str, values: Json) -> Iterator[Fact]:
    for name in _MODEL:
        if name in values:
            yield Fact(name, _number(values[name]), path, *_place(text, (name,)))
    stages = values.get("stage_layers", [values["layers"]])
    yield Fact("pp", len(stages), path, *_place(text, ("stage_layers",)))
    for name in ("vpp", "cp", "ep"):
        yield Fact(name, 1, path, 1)


def _script(path: str, text: str) -> Iterator[Fact]:
    """What train.py recomputes: the function that it hands to `checkpoint`."""
    recompute, line = "none", 1
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "checkpoint":
            target = ast.unparse(node.args[0]) if node.args else ""
            recompute, line = _RECOMPUTED.get(target, "unknown"), node.lineno
        if getattr(getattr(node, "func", None), "attr", None) == "gradient_checkpointing_enable":
            recompute, line = "full", getattr(node, "lineno", 1)
    value = Unknown("an unknown function is recomputed") if recompute == "unknown" else recompute
    yield Fact("recompute", value, path, line)


_RECOMPUTED = {"self.both_halves": "full", "self.feed_forward_half": "selective"}


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from None


def _launch(path: str, text: str) -> Iterator[Fact]:
    words = read_script(text).command
    given = launcher_options(words[0], words[1:]) if words else None
    number = given.number("--nproc-per-node") if given else None
    if given and isinstance(number, int):
        place = given.place("--nproc-per-node")
        yield Fact("gpus_per_node", number, path, place.line, place.column)


_READERS: dict[str, Callable[[str, str], Iterator[Fact]]] = {
    "json": _json,
    "py": _script,
    "sh": _launch,
}


def _together(found: list[Fact]) -> Iterator[Fact]:
    """Data-parallel degree, world and nodes, where their parts are known and divide."""
    numbers = {fact.name: fact.value for fact in found if isinstance(fact.value, int)}
    sizes = next((fact for fact in found if fact.name == "layers"), None)
    if sizes is not None and "tp" not in numbers:
        yield Fact("tp", 1, sizes.path, 1)
    batch = next((fact for fact in found if fact.name == "gbs"), None)
    dp = _quotient(numbers, "gbs", ("mbs", "microbatches"))
    if batch is None or dp is None:
        return
    yield Fact("dp", dp, batch.path, batch.line, batch.column)
    if "pp" not in numbers:
        return
    world = dp * math.prod(numbers.get(name, 1) for name in ("pp", "ulysses_sp", "tp"))
    yield Fact("world", world, batch.path, batch.line, batch.column)
    nodes = _quotient({**numbers, "world": world}, "world", ("gpus_per_node",))
    if nodes is not None:
        yield Fact("nodes", nodes, batch.path, batch.line, batch.column)


def _quotient(numbers: Mapping[str, int], whole: str, parts: tuple[str, ...]) -> int | None:
    if any(numbers.get(name, 0) < 1 for name in (whole, *parts)):
        return None
    value, rest = divmod(numbers[whole], math.prod(numbers[name] for name in parts))
    return None if rest else value
