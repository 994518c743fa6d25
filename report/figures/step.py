"""An estimate -> where a step's time goes, part by part, and the range that the whole is expected in."""

from __future__ import annotations

from parc.compiler.plan import Estimate
from parc.compiler.risk import band
from parc.printing.words.numbers import seconds
from parc.printing.words.terms import OF_TIME

from .common import ACCENT, FAINT, INK, Json, axis, figure

HEIGHT_OF_BAR = 30


def step(estimate: Estimate) -> Json:
    """Horizontal bars in seconds, the longest first below the whole step with its band."""
    parts = sorted(estimate.time.items(), key=lambda part: -part[1])
    whole = estimate.step_seconds
    low, high = band(whole, estimate.step_spread)
    names = [*(name for name, _ in reversed(parts)), "step"]
    values = [*(value for _, value in reversed(parts)), whole]
    bars: Json = {
        "type": "bar",
        "orientation": "h",
        "y": names,
        "x": values,
        "marker": {"color": ["$s1"] * len(parts) + [ACCENT]},
        "customdata": [
            [seconds(value), value / whole, OF_TIME.get(name, name)]
            for name, value in zip(names, values, strict=True)
        ],
        "hovertemplate": "%{customdata[0]}, %{customdata[1]:.1%} of the step<br>"
        "%{customdata[2]}<extra></extra>",
    }
    doubt: Json = {
        "type": "scatter",
        "mode": "markers",
        "x": [whole],
        "y": ["step"],
        "marker": {"color": INK, "size": 1},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [high - whole],
            "arrayminus": [whole - low],
            "color": INK,
            "thickness": 1.5,
            "width": 6,
        },
        "hovertemplate": f"four runs in five: {seconds(low)} to {seconds(high)}<extra></extra>",
    }
    labels = [
        {
            "text": (
                f"{seconds(value)}  {value / whole:.0%}" if name != "step" else seconds(whole)
            ),
            "x": high if name == "step" else value,
            "y": name,
            "xanchor": "left",
            "xshift": 6,
            "showarrow": False,
            "font": {"color": FAINT, "size": 12},
        }
        for name, value in zip(names, values, strict=True)
    ]
    return figure(
        [bars, doubt],
        HEIGHT_OF_BAR * len(names) + 60,
        bargap=0.4,
        annotations=labels,
        xaxis=axis("seconds of a step", range=[0, 1.45 * high], nticks=6),
        yaxis=axis(showgrid=False, tickfont={"color": INK}),
    )
