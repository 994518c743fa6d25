"""Plans of several targets -> their MFU side by side, with the range that each is expected in."""

from __future__ import annotations

from collections.abc import Sequence

from parc.compiler.plan import Plan
from parc.printing.words.layouts import layout_text

from .common import ACCENT, INK, Json, axis, figure


def targets(plans: Sequence[Plan]) -> Json:
    """Horizontal bars in per cent, the best on top; whiskers hold four runs in five."""
    shown = list(reversed(plans))
    mfu = [100 * plan.estimate.mfu for plan in shown]
    bands = [plan.estimate.mfu_band for plan in shown]
    colors = ["$s1"] * (len(shown) - 1) + [ACCENT]
    trace: Json = {
        "type": "bar",
        "orientation": "h",
        "y": [plan.target for plan in shown],
        "x": mfu,
        "marker": {"color": colors},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [100 * high - value for value, (_, high) in zip(mfu, bands, strict=True)],
            "arrayminus": [value - 100 * low for value, (low, _) in zip(mfu, bands, strict=True)],
            "color": INK,
            "thickness": 1.5,
            "width": 6,
        },
        "customdata": [
            [layout_text(plan.layout), 100 * low, 100 * high]
            for plan, (low, high) in zip(shown, bands, strict=True)
        ],
        "hovertemplate": "%{x:.1f} % (%{customdata[1]:.0f}–%{customdata[2]:.0f})"
        "<br>%{customdata[0]}<extra></extra>",
    }
    most = max(100 * high for _, high in bands)
    return figure(
        [trace],
        44 * len(shown) + 60,
        bargap=0.45,
        xaxis=axis("MFU in %", range=[0, 1.1 * most]),
        yaxis=axis(showgrid=False, tickfont={"color": INK}),
    )
