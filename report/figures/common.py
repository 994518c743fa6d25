"""Parts of every chart: a frame whose sides are SIDE units, axes in per cent of them, paths and legends.

A chart is an SVG that is stretched to its place; text stands beside it as HTML, so that it keeps its size. A
dot is a line of no length with a round end, whose width is in pixels (templates/report/charts.html.j2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, floor, log, log10
from typing import Any

#: What a page's script says of a place in a chart that a pointer is at.
Json = dict[str, Any]

GIB = 2**30
#: Units of a side.
SIDE = 10_000
#: Colours of terms, from the one that matters to the one that hardly does; then they repeat.
SERIES = 8
#: Steps between ticks in a decade, and the ticks of a logarithmic one.
STEPS, DIGITS = (1, 2, 5, 10), (1, 1.5, 2, 3, 4, 5, 7)


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` -> shares of a side."""

    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        if self.logarithmic:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def at(self, value: float, side: int = SIDE) -> int:
        """Units from the left."""
        return round(side * self.share(value))

    def below(self, value: float) -> int:
        """Units from the top, of values that grow upwards."""
        return SIDE - self.at(value)


@dataclass(frozen=True)
class Tick:
    """A label of an axis, so many per cent from its left or upper end: whether it stays on narrow screens,
    and at which zoom it is shown, where a chart has several."""

    place: float
    text: str
    stays: bool = True
    zoom: int = 0

    @property
    def classes(self) -> str:
        """For the style sheet: a label at an end does not reach beyond it."""
        end = "first" if self.place < 3 else "last" if self.place > 97 else ""
        names = end, "" if self.stays else "narrow", f"zoom-{self.zoom}" if self.zoom else ""
        return " ".join(filter(None, names))


@dataclass(frozen=True)
class Axis:
    """A title with its unit, and labels."""

    title: str
    ticks: tuple[Tick, ...]

    @property
    def widest(self) -> str:
        return max((tick.text for tick in self.ticks), key=len, default="")


@dataclass(frozen=True)
class Path:
    """A path in the units of its chart; `name` are its classes of the style sheet."""

    name: str
    text: str


@dataclass(frozen=True)
class Label:
    """A text in a chart, per cent from its left and upper side."""

    text: str
    x: float
    y: float
    name: str = ""


@dataclass(frozen=True)
class Entry:
    """A line of a legend: the class of its mark, what it is, its number, and what that means."""

    name: str
    text: str
    value: str = ""
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """A chart of two axes, so many pixels high, as wide as the page; `wide` and `high` are its units.
    `zooms` are how many times as wide as the page it is drawn, where that can be chosen, the first at first.
    """

    about: str
    height: int
    x: Axis
    y: Axis
    paths: tuple[Path, ...]
    labels: tuple[Label, ...] = ()
    legend: tuple[Entry, ...] = ()
    wide: int = SIDE
    high: int = SIDE
    zooms: tuple[int, ...] = ()
    hover: Json = field(default_factory=dict)

    @property
    def lines(self) -> str:
        """The path of a quiet line at each label of the vertical axis, where that is one of numbers."""
        if self.zooms:
            return ""
        return "".join(
            f"M0 {round(self.high * tick.place / 100)}H{self.wide}" for tick in self.y.ticks
        )

    @property
    def zoom_choices(self) -> list[tuple[str, str]]:
        return [(f"zoom-{zoom}", f"{zoom}×") for zoom in self.zooms]


@dataclass(frozen=True)
class Bar:
    """A row of bars: what it is, its number and meaning, its length and the ends of its error bar in per cent
    of the widest."""

    text: str
    value: str
    note: str
    share: float
    chosen: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def right(self) -> float:
        """From the upper end of the error bar to that of the widest."""
        return 100 - (self.high or 0)


def series(number: int) -> str:
    """The class of the term at a place."""
    return f"s{number % SERIES}"


def ticks(scale: Scale, most: int, upwards: bool = False) -> tuple[Tick, ...]:
    """Round numbers over a linear scale, `most` at most; every second one stays where it is narrow."""
    least = (scale.high - scale.low) / most
    decade = 10.0 ** floor(log10(least))
    step = next(each for each in (digit * decade for digit in STEPS) if each >= least * 0.999)
    numbers = range(ceil(scale.low / step - 1e-9), floor(scale.high / step + 1e-9) + 1)
    digits = max(0, -floor(log10(step) + 1e-9))
    return tuple(
        _tick(scale, number * step, f"{number * step:,.{digits}f}", upwards, not number % 2)
        for number in numbers
    )


def logarithmic_ticks(scale: Scale, apart: float) -> tuple[Tick, ...]:
    """Numbers of few digits over a logarithmic scale, upwards, a share `apart` of the side at least."""
    kept: list[float] = []
    for decade in range(floor(log10(scale.low)), ceil(log10(scale.high))):
        for value in (digit * 10.0**decade for digit in DIGITS):
            inside = scale.low <= value <= scale.high
            if inside and not (kept and scale.share(value) - scale.share(kept[-1]) < apart):
                kept.append(value)
    names = (f"{value:,.0f}" if value >= 10 else f"{value:.3g}" for value in kept)
    return tuple(_tick(scale, *each, True, True) for each in zip(kept, names, strict=True))


def _tick(scale: Scale, value: float, text: str, upwards: bool, stays: bool) -> Tick:
    place = 100 * scale.share(value)
    return Tick(round(100 - place if upwards else place, 2), text, stays)


def rectangle(x: int, y: int, width: int, height: int) -> str:
    return f"M{x} {y}h{width}v{height}h-{width}z"


def dots(places: Iterable[tuple[int, int]]) -> str:
    return "".join(f"M{x} {y}h0" for x, y in places)
