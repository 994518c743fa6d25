"""A training log -> what it says of its run: target, layout, batch, model, and how fast its steps were."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import Any, Literal

#: How a framework states the speed of its steps.
Unit = Literal["seconds", "sequences/s", "tokens/s per GPU"]


@dataclass(frozen=True)
class Pace:
    """One report of speed: the steps since the report before it, up to `step`."""

    step: int
    value: float


@dataclass(frozen=True)
class RunLog:
    """What one log says; a name that it does not give is left out.

    `layout` holds variables of `Layout`, `gpus` and `dp`; `train` and `model` hold settings of those
    blocks, `stack` those of the target's block that the run's own arguments state: None where the log lacks
    them. `assumed` is what the framework does unless told otherwise and its log does not show. `clashes` are
    values that the log gives twice and differently. `uneven` says that layers may be placed unevenly,
    `step_tokens` about how many tokens a step held. `timers` are seconds of a step by the framework's timers,
    of the slowest rank: `passes`, forward and backward with all that waits in them, and `optimizer`.
    `reserved` are the most bytes that PyTorch's allocator held on a GPU.
    """

    target: str
    unit: Unit
    paces: tuple[Pace, ...]
    layout: Mapping[str, int] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, int] = field(default_factory=dict)
    stack: Mapping[str, Any] | None = None
    assumed: Mapping[str, int] = field(default_factory=dict)
    clashes: tuple[str, ...] = ()
    uneven: bool = True
    step_tokens: float | None = None
    timers: Mapping[str, float] = field(default_factory=dict)
    reserved: float | None = None


def plain(text: str) -> str:
    """The text without colours and names of ranks; a carriage return begins a line, as in progress bars."""
    lines = _COLOUR.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _RANK.sub("", lines)


def merged(paces: Iterable[Pace]) -> tuple[Pace, ...]:
    """Reports of one step in a row as one: every rank prints its own."""
    return tuple(
        Pace(step, median(pace.value for pace in same))
        for step, same in groupby(paces, key=lambda pace: pace.step)
    )


def whole(text: str) -> int | None:
    """A count; None for what is none, and for more digits than any count of a run has."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else None


def number(text: str) -> float:
    return float(text.replace(",", ""))


def agreed(found: Iterable[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Name and value pairs as a mapping to the first value, and the names given with several."""
    values: dict[str, list[str]] = {}
    for name, value in found:
        kept = values.setdefault(name, [])
        if value not in kept:
            kept.append(value)
    clashes = [f"{name} is {' and '.join(kept)}" for name, kept in values.items() if len(kept) > 1]
    return {name: kept[0] for name, kept in values.items()}, tuple(clashes)


def json_after(text: str, mark: re.Pattern[str]) -> dict[str, Any]:
    """The first JSON object that directly follows a mark; empty when there is none that can be read."""
    for match in mark.finditer(text):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


#: What torchrun (`[rank0]:`, `[default0]:`) and `srun --label` put before a line.
_RANK = re.compile(r"^(?:\[(?:rank|default)\d{1,6}\]:| {0,6}\d{1,6}:) ?", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
