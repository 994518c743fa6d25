"""The layouts of a space -> memory against time: the allowed, the frontier, the chosen and the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from parc.compiler.plan import Estimate, Layout
from parc.printing.words.layouts import layout_text

from ..landscape import Landscape, Point
from .common import ACCENT, FAINT, GIB, INK, Json, axis, figure


def landscape(found: Landscape, chosen: Estimate) -> Json:
    """A point a layout: GiB of its fullest GPU, seconds of its step on a logarithmic axis."""
    ours = Point(chosen.layout.model_dump(), chosen.memory_bytes, chosen.step_seconds)
    traces = [
        _cloud("does not fit", found.unfit, "$dim", 4),
        _cloud("breaks a condition", found.refused, "$s5", 5),
        _cloud("allowed", found.allowed, "$s1", 5),
        {
            **_cloud("frontier", found.frontier, INK, 4, ours),
            "mode": "lines+markers",
            "line": {"color": INK, "width": 1.2, "shape": "hv"},
        },
        _mark("fastest", found.fastest, "diamond-open", INK, 13, ours),
        _mark("chosen", ours, "circle", ACCENT, 14, ours),
    ]
    capacity = chosen.capacity_bytes / GIB
    return figure(
        [each for each in traces if each["x"]],
        460,
        dragmode="zoom",
        showlegend=True,
        shapes=[
            {
                "type": "line",
                "yref": "paper",
                "x0": capacity,
                "x1": capacity,
                "y0": 0,
                "y1": 1,
                "line": {"color": FAINT, "width": 1.5, "dash": "dot"},
            }
        ],
        annotations=[
            {
                "text": "capacity",
                "x": capacity,
                "xanchor": "left",
                "xshift": 4,
                "yref": "paper",
                "y": 1,
                "yanchor": "top",
                "showarrow": False,
                "font": {"color": FAINT, "size": 12},
            }
        ],
        xaxis=axis("GiB on the fullest GPU", fixedrange=False, rangemode="tozero"),
        yaxis=axis("seconds of a step", type="log", fixedrange=False, **_ticks(found)),
        margin={"l": 56, "r": 16, "t": 12, "b": 90},
    )


#: Places of ticks in a decade: the axis' own small ones bear single digits, which nobody reads as seconds.
DIGITS_OF_TICKS = (1, 1.5, 2, 3, 4, 5, 7)


def _ticks(found: Landscape) -> Json:
    """Ticks of the logarithmic axis, each with its number, over what is drawn and a decade on either side."""
    times = [each.step_seconds for each in (*found.allowed, *found.refused, *found.unfit)]
    decades = range(floor(log10(min(times))) - 1, ceil(log10(max(times))) + 1)
    values = [digit * 10.0**decade for decade in decades for digit in DIGITS_OF_TICKS]
    return {
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [f"{value:,.0f}" if value >= 10 else f"{value:.3g}" for value in values],
    }


def _cloud(
    name: str, points: Sequence[Point], color: str, size: int, ours: Point | None = None
) -> Json:
    """Points of a kind. One that lies where `ours` does is called the chosen one, whichever is hovered."""
    names = ["chosen" if ours and _place(point) == _place(ours) else name for point in points]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [point.memory_bytes / GIB for point in points],
        "y": [point.step_seconds for point in points],
        "customdata": [
            [each, words(point.layout)] for each, point in zip(names, points, strict=True)
        ],
        "marker": {"color": color, "size": size, "line": {"width": 0}},
        "hovertemplate": "<b>%{customdata[0]}</b> %{y:.4g} s, %{x:.1f} GiB"
        "<br>%{customdata[1]}<extra></extra>",
    }


def _place(point: Point) -> tuple[int, float]:
    return point.memory_bytes >> 20, round(point.step_seconds, 6)


def _mark(name: str, point: Point, symbol: str, color: str, size: int, ours: Point) -> Json:
    found = _cloud(name, [point], color, size, ours)
    return {
        **found,
        "marker": {
            "color": color,
            "size": size,
            "symbol": symbol,
            "line": {"width": 2, "color": color},
        },
    }


def words(layout: dict[str, int]) -> str:
    """A layout of a sweep, which has columns besides the layout's own, in words."""
    return layout_text(Layout(**{name: layout[name] for name in Layout.model_fields}))
