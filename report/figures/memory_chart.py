"""An estimate -> bytes of each pipeline rank by term, under the ceiling of the job and the GPU's capacity."""

from __future__ import annotations

from parc.compiler.plan import Estimate, Stage
from parc.compiler.risk import out_of_memory
from parc.printing.words.numbers import risk
from parc.printing.words.terms import OF_MEMORY

from .common import GIB, SIDE, Axis, Entry, Label, Path, Plot, Scale, Tick, rectangle, series, ticks

#: The part of the highest bar that a label takes: limits less apart than this share the place of theirs.
ROOM = 0.075
#: Ranks that are named below the bars.
NAMED = 16


def memory(estimate: Estimate) -> Plot:
    """Stacked bars in GiB, a bar a rank; its tip names the layers of the rank and its risk."""
    terms = terms_of(estimate)
    highest = max(estimate.capacity_bytes, estimate.memory_bytes) / GIB
    up = Scale(0, 1.15 * highest)
    limits = [Path("limit dashed", _line(up, estimate.capacity_bytes))]
    if estimate.ceiling_bytes != estimate.capacity_bytes:
        limits.append(Path("limit chosen", _line(up, estimate.ceiling_bytes)))
    return Plot(
        "Memory of each pipeline rank by term; the table below has the numbers",
        300,
        Axis("pipeline rank", _ranks(estimate)),
        Axis("GiB of a GPU", ticks(up, 6, upwards=True)),
        (*_bars(estimate, terms, up), *limits),
        _labels(estimate, up, highest),
        tuple(_entry(estimate, name, number) for number, name in enumerate(terms)),
        hover={"kind": "columns", "words": [_said(estimate, each) for each in estimate.stages]},
    )


def terms_of(estimate: Estimate) -> list[str]:
    """The terms of memory, the largest first; equal ones by name."""
    return sorted(
        {name for stage in estimate.stages for name, size in stage.memory.items() if size},
        key=lambda name: (-max(stage.memory.get(name, 0) for stage in estimate.stages), name),
    )


def _bars(estimate: Estimate, terms: list[str], up: Scale) -> list[Path]:
    count = len(estimate.stages)
    gap = max(0.15, 0.8 - 0.1 * count)
    width = round(SIDE / count * (1 - gap))
    begins = [0] * count
    paths = []
    for number, name in enumerate(terms):
        pieces = []
        for place, stage in enumerate(estimate.stages):
            begin, end = begins[place], begins[place] + stage.memory.get(name, 0)
            top, bottom = up.below(end / GIB), up.below(begin / GIB)
            left = round(SIDE * (place + gap / 2) / count)
            pieces.append(rectangle(left, top, width, bottom - top))
            begins[place] = end
        paths.append(Path(f"bars {series(number)}", "".join(pieces)))
    return paths


def _ranks(estimate: Estimate) -> tuple[Tick, ...]:
    count = len(estimate.stages)
    shown = range(0, count, -(-count // NAMED))
    places = ((rank, round(100 * (rank + 0.5) / count, 2)) for rank in shown)
    return tuple(Tick(place, str(rank), count <= 8 or not rank % 2) for rank, place in places)


def _entry(estimate: Estimate, name: str, number: int) -> Entry:
    size = estimate.fullest.memory.get(name, 0)
    text = name.replace("_", " ")
    value = f"{size / GIB:.2f}" if size else "0"
    return Entry(f"square {series(number)}", text, value, OF_MEMORY.get(name, ""))


def _said(estimate: Estimate, stage: Stage) -> str:
    chance = out_of_memory(stage.memory_bytes, estimate.capacity_bytes, estimate.memory_spread)
    layers = " + ".join(map(str, stage.layers))
    terms = sorted(stage.memory.items(), key=lambda term: (-term[1], term[0]))
    return "\n".join(
        [
            f"rank {stage.index}: {stage.memory_bytes / GIB:.1f} GiB, {risk(chance)} risk",
            f"{layers} layers",
            *(f"{name.replace('_', ' ')} {size / GIB:.2f}" for name, size in terms if size),
        ]
    )


def _line(up: Scale, limit_bytes: int) -> str:
    return f"M0 {up.below(limit_bytes / GIB)}H{SIDE}"


def _labels(estimate: Estimate, up: Scale, highest: float) -> tuple[Label, ...]:
    """The names of the limits: side by side where they would overlap."""
    ceiling, capacity = estimate.ceiling_bytes / GIB, estimate.capacity_bytes / GIB

    def label(text: str, level: float, x: float, name: str) -> Label:
        return Label(text, x, round(up.below(level) / SIDE * 100, 2), name)

    if ceiling == capacity:
        return (label(f"capacity {capacity:.1f}", capacity, 0, "above"),)
    apart = capacity - ceiling > ROOM * highest
    return (
        label(f"ceiling {ceiling:.1f}", ceiling if apart else capacity, 0, "above accent"),
        label(f"capacity {capacity:.1f}", capacity, 100, "above right"),
    )
