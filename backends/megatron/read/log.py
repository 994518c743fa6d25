"""Megatron-LM's standard output -> `RunLog`: its arguments block, and its line for each log interval."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ....compiler.plan import RECOMPUTE
from ...log import Pace, RunLog, agreed, merged, number, plain, whole
from .. import recomputed_modules
from ..option_rows import ROWS
from . import log_stack
from .spelling import SHARDING

#: training/training.py:2847 and 2851 (Megatron-core 0.19).
LINE = re.compile(
    r"iteration\s+(\d{1,15})/\s*\d+ \|.{0,400}?elapsed time per iteration \((ms|s)\): (\d+(?:\.\d+)?)(?= )"
    r"(?:.{0,400}?global batch size:\s+(\d{1,9}) )?"
)
#: training/arguments.py:1909 pads a name with dots to 48 characters.
ARGUMENT = re.compile(r"^.{0,80}? (\w+) \.{2,} (.*)$", re.MULTILINE)
#: Lines before and after the block: without one of them the log was cut, and what it lacks is not known.
BEGIN, END = re.compile(r"-{5} arguments -{5}"), re.compile(r"-{5} end of arguments -{5}")

#: core/timers.py:447: milliseconds a step, of the slowest rank or of the fastest and the slowest.
TIMER = re.compile(
    r"^ {3,4}(forward-backward|optimizer) \.{2,}: (?:\(\d+\.\d+, (\d+\.\d+)\)|(\d+\.\d+))$",
    re.MULTILINE,
)
TIMERS = {"forward-backward": "passes", "optimizer": "optimizer"}
#: training/utils/common_utils.py:325, in MiB.
RESERVED = re.compile(r"memory \(MB\) \|.{0,200}?\bmax reserved: (\d{1,9}(?:\.\d+)?)")

#: Step, unit, elapsed time, batch size.
Line = tuple[str, str, str, str]
#: Figures of a run -> arguments that are printed: options, and what Megatron-LM makes of several.
LAYOUT = {
    **ROWS.printed("layout"),
    "vpp": "virtual_pipeline_model_parallel_size",
    "dp": "data_parallel_size",
    "gpus": "world_size",
}
TRAIN, MODEL = ROWS.printed("train"), ROWS.printed("model")
#: Arguments that place layers by hand.
PLACING = (
    "pipeline_model_parallel_layout",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
)


@dataclass(frozen=True)
class Block:
    """The arguments of one start. Unless it is `whole`, its start or end was cut, and what it lacks is not
    known."""

    arguments: Mapping[str, str]
    whole: bool

    @property
    def layout(self) -> dict[str, int]:
        return _layout(self.arguments) if self.whole else _numbers(self.arguments, LAYOUT)

    @property
    def model(self) -> dict[str, int]:
        return _numbers(self.arguments, MODEL)

    @property
    def stack(self) -> dict[str, Any] | None:
        return log_stack.stack(self.arguments, self.layout) if self.whole else None

    def train(self, batch: str) -> Mapping[str, int | str]:
        return _train(self.arguments, batch) if self.whole else _sizes(self.arguments, batch)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """All that is read of it: other starts in one log must not say otherwise."""
        found = {**self.layout, **self.model, **self.train(""), **(self.stack or {})}
        return [(name, str(value)) for name, value in found.items()]


def read_log(text: str) -> RunLog | None:
    """The run behind a log, or None when no line of it is Megatron-LM's."""
    text = plain(text)
    lines = LINE.findall(text)
    if not lines:
        return None
    blocks = _blocks(text)
    block = next((each for each in blocks if each.whole), blocks[0])
    batch = _batch(lines)
    return RunLog(
        target="megatron",
        unit="seconds",
        paces=_paces(lines, batch),
        layout=block.layout,
        train=block.train(batch),
        model=block.model,
        stack=block.stack,
        clashes=agreed(fact for each in blocks for fact in each.facts)[1],
        uneven=any(block.arguments.get(name, "None") != "None" for name in PLACING),
        timers=_timers(text),
        reserved=max((number(found) * 2**20 for found in RESERVED.findall(text)), default=None),
    )


def _blocks(text: str) -> list[Block]:
    """One for each start that shows arguments; an empty one where none does."""
    cut, *others = BEGIN.split(text)
    found = [Block(_arguments(cut), False)]
    found += [Block(_arguments(each), bool(END.search(each))) for each in others]
    return [each for each in found if each.arguments] or found[:1]


def _arguments(text: str) -> dict[str, str]:
    return agreed((name, value.rstrip()) for name, value in ARGUMENT.findall(text))[0]


def _timers(text: str) -> dict[str, float]:
    """The median of all reports but the first, in which all begins."""
    found: dict[str, list[float]] = {}
    for name, slowest, alone in TIMER.findall(text):
        found.setdefault(TIMERS[name], []).append(number(slowest or alone) / 1000)
    return {name: median(values[1:] or values) for name, values in found.items()}


def _batch(lines: Sequence[Line]) -> str:
    """The last batch size, "" where none is given: a ramp-up comes before it. A log may end within a line."""
    return next((size for *_, size in reversed(lines) if size), "")


def _paces(lines: Sequence[Line], batch: str) -> tuple[Pace, ...]:
    """Paces of steps with this batch size."""
    scale = {"ms": 1e-3, "s": 1.0}
    return merged(
        Pace(int(step), number(elapsed) * scale[unit])
        for step, unit, elapsed, size in lines
        if size == batch
    )


def _numbers(arguments: Mapping[str, str], names: Mapping[str, str]) -> dict[str, int]:
    """The named arguments that are whole numbers; `None` is one that was not given."""
    found = {name: arguments.get(argument, "") for name, argument in names.items()}
    counts = {name: whole(value) for name, value in found.items()}
    return {name: count for name, count in counts.items() if count is not None}


def _layout(arguments: Mapping[str, str]) -> dict[str, int]:
    layout = {"tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1} | _numbers(arguments, LAYOUT)
    if arguments.get("num_experts", "None") != "None":
        layout["etp"] = _numbers(arguments, {"etp": "expert_tensor_parallel_size"}).get(
            "etp", layout["tp"]
        )
    return layout | _recompute(arguments) | _sharding(arguments, layout.get("dp", 1))


def _recompute(arguments: Mapping[str, str]) -> dict[str, int]:
    """Full recomputation of every layer is `recompute_layers` 0; method `block` names how many of a chunk."""
    name = arguments.get("recompute_granularity", "None")
    if name == "selective":
        name = _modules(arguments) or name
    level = RECOMPUTE.index(name) if name in RECOMPUTE else 0
    block = name == "full" and arguments.get("recompute_method") == "block"
    count = _numbers(arguments, {"layers": "recompute_num_layers"}).get("layers", 0)
    return {"recompute": level, "recompute_layers": count if block else 0}


def _modules(arguments: Mapping[str, str]) -> str | None:
    """Lists are printed as Python writes them."""
    said = {name for name, value in arguments.items() if value not in ("None", "False")}
    return recomputed_modules.mode_of(
        re.findall(r"\w+", arguments.get("recompute_modules", "")),
        latent="multi_latent_attention" in said,
        experts="num_experts" in said,
        grouped="moe_grouped_gemm" in said,
        dense=arguments.get("moe_layer_freq", "1") not in ("None", "1"),
        delayed="fp8" in said and arguments.get("fp8_recipe", "delayed") == "delayed",
    )


def _sharding(arguments: Mapping[str, str], dp: int) -> dict[str, int]:
    given = {name for name, value in arguments.items() if value == "True"}
    zero = 1 if "use_distributed_optimizer" in given else 0
    if "use_megatron_fsdp" in given:
        zero = SHARDING.get(arguments.get("data_parallel_sharding_strategy", ""), 3)
    if "use_torch_fsdp2" in given:
        zero = 2 if "torch_fsdp2_no_reshard_after_forward" in given else 3
    copies = _numbers(arguments, {"n": "num_distributed_optimizer_instances"}).get("n", 1)
    offload = {"offload": 1} if "optimizer_cpu_offload" in given else {}
    return offload | {"zero": zero, "dp_shard": max(dp // max(copies, 1), 1) if zero else 1}


def _sizes(arguments: Mapping[str, str], batch: str) -> dict[str, int]:
    stepped = {"global_batch": int(batch)} if batch else {}
    return _numbers(arguments, TRAIN) | stepped


def _train(arguments: Mapping[str, str], batch: str) -> dict[str, int | str]:
    train: dict[str, int | str] = {**_sizes(arguments, batch)}
    if (unfused := log_stack.unfused(arguments)) is not None:
        train["attention"] = "unfused" if unfused else "flash"
    if arguments.get("fp4", "None") != "None":
        train["precision"] = "nvfp4"
    elif arguments.get("fp8", "None") != "None":
        train["precision"] = "mxfp8" if arguments.get("fp8_recipe") == "mxfp8" else "fp8"
    else:
        halves = [name for name in ("bf16", "fp16") if arguments.get(name) == "True"]
        train.update(zip(["precision"], halves, strict=False))
    return train
