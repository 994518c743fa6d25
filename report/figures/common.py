"""What all figures share: their frame, their colours, and numbers of as many digits as `plan.json` keeps."""

from __future__ import annotations

from typing import Any

from parc.printing.plan_json import rounded

#: A figure, or a part of one, as plotly.js takes it.
Json = dict[str, Any]

#: Names that the page's script replaces by colours of its style, light or dark.
ACCENT, INK, FAINT, LINE, PAPER = "$accent", "$ink", "$faint", "$line", "$paper"
#: Colours of terms, from the one that matters to the one that hardly does; then they repeat.
SERIES = tuple(f"$s{number}" for number in range(8))
GIB = 2**30


def series(number: int) -> str:
    """The colour of the term at a place."""
    return SERIES[number % len(SERIES)]


def figure(traces: list[Json], height: int, **layout: Any) -> Json:
    """Traces in the common frame; `height` in pixels, the width is the page's."""
    frame: Json = {
        "height": height,
        "margin": {"l": 56, "r": 16, "t": 12, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "inherit", "size": 12, "color": INK},
        "hoverlabel": {"bgcolor": PAPER, "bordercolor": LINE, "font": {"color": INK}},
        "showlegend": False,
        "legend": {
            "orientation": "h",
            "x": 0,
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "hovermode": "closest",
        "dragmode": False,
    }
    return rounded({"data": traces, "layout": {**frame, **layout}})


def axis(title: str = "", **more: Any) -> Json:
    """An axis with a quiet grid and a title with its unit."""
    found: Json = {
        "gridcolor": LINE,
        "linecolor": LINE,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
        "tickfont": {"color": FAINT},
    }
    if title:
        found["title"] = {"text": title, "font": {"color": FAINT, "size": 12}, "standoff": 8}
    return {**found, **more}


def escaped(text: str) -> str:
    """A text for a label of plotly, which reads a few tags of HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
