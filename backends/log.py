"""A training log -> what it says of its run: target, layout, batch, model, and how fast its steps were."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal

from ..compiler.plan import OFFLOAD, RECOMPUTE
from ..compiler.run import Run

#: Steps by which a rank's report may come after those of others; a step that is farther back is a restart.
LATE = 8
#: How a framework states the speed of its steps.
Unit = Literal["seconds", "sequences/s", "tokens/s per GPU"]


@dataclass(frozen=True)
class Pace:
    """One report of speed: the steps since the report before it, up to `step`."""

    step: int
    value: float


@dataclass(frozen=True)
class Announced:
    """The line of parc's entry scripts: the run's folder, and the digest of its steps (compiler/run.py)."""

    run: str
    step_digest: str


@dataclass(frozen=True)
class RunLog:
    """Contents of one log; a name that it does not give is left out.

    `layout` holds variables of `Layout`, `gpus` and `dp`; `train` and `model` hold settings of those
    blocks, `stack` those of the target's block that the run's own arguments state: None where the log lacks
    them. `assumed` is what the framework does unless told otherwise and its log does not show. `clashes` are
    values that the log gives twice and differently. `uneven` says that layers may be placed unevenly,
    `step_tokens` about how many tokens a step held. `timers` are seconds of a step by the framework's timers,
    of the slowest rank: `passes`, forward and backward with all that waits in them, and `optimizer`.
    `reserved` are the most bytes that PyTorch's allocator held on a GPU, `parameters` are the model's.
    `announced` is what parc's own entry script says at the start.
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
    parameters: int | None = None
    announced: Announced | None = None


#: Sizes of a model that an emitted train.py prints beside its layout.
SIZES = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
_LAYOUT = re.compile(r"\blayout ((?:\w+=\w+(?=\s|\Z)[^\S\n]*)+)")
_WORDS = {"recompute": RECOMPUTE, "offload": OFFLOAD}


def announcement(run: Run) -> str:
    """The line with which an entry script begins its log, in characters that need no quoting."""
    return f"parc run {run.folder} of job {run.step_digest}"


def with_announced(log: RunLog, text: str) -> RunLog:
    """The log with what entry scripts announce in it, once at each start and on each node."""
    by_steps: dict[str, Announced] = {}
    for run, digest in _ANNOUNCED.findall(text):
        by_steps.setdefault(digest, Announced(run, digest))
    if not by_steps:
        return log
    first, *others = by_steps.values()
    several = tuple(f"{first.run} and {other.run}" for other in others)
    return replace(log, announced=first, clashes=(*log.clashes, *several))


def plain(text: str) -> str:
    """The text without colours and names of ranks; a carriage return begins a line, as in progress bars."""
    lines = _COLOUR.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _RANK.sub("", lines)


def merged(paces: Iterable[Pace]) -> tuple[Pace, ...]:
    """Reports of one step as one: every rank prints its own, some of them a few steps late."""
    found: list[tuple[int, list[float]]] = []
    for pace in paces:
        same = next((values for step, values in found[-LATE:] if step == pace.step), None)
        if same is None:
            found.append((pace.step, [pace.value]))
        else:
            same.append(pace.value)
    return tuple(Pace(step, median(values)) for step, values in found)


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


def layout_said(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Words of the lines in which an emitted train.py prints `layout name=word ...`, and which clash."""
    return agreed(re.findall(r"\b(\w+)=(\w+)", " ".join(_LAYOUT.findall(text))))


def numbers_said(said: Mapping[str, str], names: Iterable[str]) -> dict[str, int]:
    """Numbers of such lines, and words of a layout by their places."""
    found: dict[str, int] = {}
    for name in names:
        text, words = said.get(name, ""), _WORDS.get(name, ())
        value = words.index(text) if text in words else whole(text)
        found |= {} if value is None else {name: value}
    return found


def json_after(text: str, mark: re.Pattern[str]) -> list[dict[str, Any]]:
    """The JSON objects that directly follow a mark, each once; those that cannot be read are left out."""
    found: list[dict[str, Any]] = []
    cut = 0
    for match in mark.finditer(text):
        start = match.end()
        value = _decoded(text, start)
        if value is None and cut < _TRIES:
            cut += 1
            value = _decoded(_alone(text[start : start + _LONGEST]), 0)
        if isinstance(value, dict) and value not in found:
            found.append(value)
    return found


def _decoded(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _alone(document: str) -> str:
    """JSON without what stands before each of its lines but the first, such as a time or the name of a pod:
    what is before the first quote of the second line, with any digits."""
    second = _BEFORE.search(document)
    before = re.sub(r"\d+", r"\\d+", re.escape(second[1].rstrip(" \t"))) if second else ""
    return re.sub(rf"^{before}", "", document, flags=re.MULTILINE) if before else document


_ANNOUNCED = re.compile(r"\bparc run ([\w.-]{1,400}) of job ([0-9a-f]{12})\b", re.ASCII)
#: What torchrun (`[rank0]:`, `[default0]:`) and `srun --label` put before a line.
_RANK = re.compile(r"^(?:(?:\[(?:rank|default)\d{1,6}\]:| {0,6}\d{1,6}:) ?)+", re.MULTILINE)
#: Control sequences of a terminal (ECMA-48), and titles of its window.
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\n\x1b]*\x07)")
_BEFORE = re.compile(r'\A[^\n]*\n+([^\n"]*)"')
#: Characters of a configuration at most, and configurations that are read line by line.
_LONGEST, _TRIES = 100_000, 100
