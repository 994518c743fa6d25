"""The layouts of a space -> memory against time: the allowed, the frontier, the chosen and the fastest."""

from __future__ import annotations

from collections.abc import Sequence

from parc.compiler.plan import Estimate
from parc.printing.words.numbers import seconds

from ..landscape import Landscape, Point
from .common import (
    GIB,
    SIDE,
    Axis,
    Entry,
    Json,
    Label,
    Path,
    Plot,
    Scale,
    dots,
    logarithmic_ticks,
    ticks,
)
from .layout_words import layout_words

#: The part of the height that two ticks of the logarithmic axis lie apart at least.
APART = 0.06


def landscape(found: Landscape, chosen: Estimate) -> Plot:
    """A dot a layout: GiB of its fullest GPU, seconds of its step on a logarithmic axis."""
    ours = Point(chosen.layout.model_dump(), chosen.memory_bytes, chosen.step_seconds)
    clouds: list[tuple[str, str, Sequence[Point]]] = [
        ("does not fit", "dim", found.unfit),
        ("breaks a condition", "s5", found.refused),
        ("allowed", "s1", found.allowed),
        ("frontier", "ink", found.frontier),
        ("fastest", "ring", (found.fastest,)),
        ("chosen", "chosen", (ours,)),
    ]
    shown = [(name, look, points) for name, look, points in clouds if points]
    every = [point for _, _, points in shown for point in points]
    across, up = _scales(every, chosen.capacity_bytes)
    places = [_places(points, across, up) for _, _, points in shown]
    paths = [
        Path(f"dots {look}", dots(each)) for (_, look, _), each in zip(shown, places, strict=True)
    ]
    capacity = across.at(chosen.capacity_bytes / GIB)
    hole = Path("dots hollow", dots(places[-2]))
    line = Path("line ink", _stairs(_places(found.frontier, across, up)))
    return Plot(
        "Memory and time of the layouts; the table below has the frontier",
        420,
        Axis("GiB on the fullest GPU", ticks(across, 8)),
        Axis("seconds of a step", logarithmic_ticks(up, APART)),
        (Path("limit dashed", f"M{capacity} 0V{SIDE}"), line, *paths[:-1], hole, paths[-1]),
        (Label("capacity", round(100 * capacity / SIDE, 2), 0, "under"),),
        tuple(_entry(name, look, points) for name, look, points in shown),
        hover=_hover(shown, across, up),
    )


def _scales(every: Sequence[Point], capacity_bytes: int) -> tuple[Scale, Scale]:
    most = max(capacity_bytes, *(point.memory_bytes for point in every)) / GIB
    times = [point.step_seconds for point in every]
    return Scale(0, 1.04 * most), Scale(min(times) / 1.08, max(times) * 1.08, logarithmic=True)


def _places(points: Sequence[Point], across: Scale, up: Scale) -> list[tuple[int, int]]:
    return [(across.at(each.memory_bytes / GIB), up.below(each.step_seconds)) for each in points]


def _stairs(places: Sequence[tuple[int, int]]) -> str:
    """A line through the frontier: until the next point nothing is faster."""
    (x, y), *others = places
    return f"M{x} {y}" + "".join(f"H{x}V{y}" for x, y in others)


def _entry(name: str, look: str, points: Sequence[Point]) -> Entry:
    if name not in ("fastest", "chosen"):
        return Entry(f"dot {look}", name)
    (point,) = points
    value = f"{seconds(point.step_seconds)}, {point.memory_bytes / GIB:.1f} GiB"
    return Entry(f"dot {look}", name, value)


def _hover(shown: Sequence[tuple[str, str, Sequence[Point]]], across: Scale, up: Scale) -> Json:
    """Hover data: each dot's layout; its numbers follow from its place, to as many digits as are drawn."""
    words, lines = layout_words(point.layout for _, _, points in shown for point in points)
    rest = iter(lines)
    return {
        "kind": "points",
        "words": words,
        "names": [name for name, _, _ in shown],
        "sets": [[next(rest) for _ in points] for _, _, points in shown],
        "x": {"low": across.low, "high": across.high, "unit": "GiB"},
        "y": {"low": up.low, "high": up.high, "unit": "s"},
    }
