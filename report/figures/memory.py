"""An estimate -> bytes of each pipeline rank by term, under the ceiling of the job and the GPU's capacity."""

from __future__ import annotations

from parc.compiler.plan import Estimate
from parc.compiler.risk import out_of_memory
from parc.printing.words.numbers import risk

from .common import ACCENT, FAINT, GIB, INK, Json, axis, figure, series

#: The part of the highest bar that a label takes: limits less apart than this share the place of theirs.
ROOM = 0.075


def memory(estimate: Estimate) -> Json:
    """Stacked bars in GiB, a bar a rank; hovering names the layers of the rank and its risk."""
    terms = sorted(
        {name for stage in estimate.stages for name in stage.memory},
        key=lambda name: (-max(stage.memory.get(name, 0) for stage in estimate.stages), name),
    )
    ranks = [str(stage.index) for stage in estimate.stages]
    traces: list[Json] = [
        {
            "type": "bar",
            "name": name.replace("_", " "),
            "x": ranks,
            "y": [stage.memory.get(name, 0) / GIB for stage in estimate.stages],
            "marker": {"color": series(number), "line": {"width": 0}},
            "hovertemplate": "%{y:.3g} GiB",
        }
        for number, name in enumerate(terms)
    ]
    traces.append(_totals(estimate, ranks))
    highest = max(estimate.capacity_bytes, estimate.memory_bytes) / GIB
    return figure(
        traces,
        380,
        barmode="stack",
        bargap=max(0.15, 0.8 - 0.1 * len(ranks)),
        hovermode="x unified",
        showlegend=True,
        shapes=[
            _limit(estimate.ceiling_bytes, ACCENT, "solid"),
            _limit(estimate.capacity_bytes, FAINT, "dot"),
        ],
        annotations=_labels(estimate, highest),
        xaxis=axis("pipeline rank", type="category", showgrid=False, nticks=16),
        yaxis=axis("GiB of a GPU", range=[0, 1.18 * highest]),
        margin={"l": 56, "r": 16, "t": 12, "b": 90},
    )


def _totals(estimate: Estimate, ranks: list[str]) -> Json:
    """An invisible trace that gives each bar its sum and risk on hovering."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "in all",
        "showlegend": False,
        "x": ranks,
        "y": [stage.memory_bytes / GIB for stage in estimate.stages],
        "marker": {"color": "rgba(0,0,0,0)"},
        "customdata": [
            [
                " + ".join(map(str, stage.layers)),
                risk(
                    out_of_memory(
                        stage.memory_bytes, estimate.capacity_bytes, estimate.memory_spread
                    )
                ),
            ]
            for stage in estimate.stages
        ],
        "hovertemplate": "%{y:.1f} GiB, %{customdata[0]} layers, %{customdata[1]} risk",
    }


def _limit(limit_bytes: int, color: str, dash: str) -> Json:
    level = limit_bytes / GIB
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": level,
        "y1": level,
        "line": {"color": color, "width": 1.5, "dash": dash},
    }


def _labels(estimate: Estimate, highest: float) -> list[Json]:
    """The names of the limits: one above the other where they would overlap."""
    ceiling, capacity = estimate.ceiling_bytes / GIB, estimate.capacity_bytes / GIB
    apart = capacity - ceiling > ROOM * highest
    if ceiling == capacity:
        return [_label(f"capacity {capacity:.1f}", capacity, 0, "left", INK)]
    return [
        _label(f"ceiling {ceiling:.1f}", ceiling if apart else capacity, 0, "left", ACCENT),
        _label(f"capacity {capacity:.1f}", capacity, 1, "right", FAINT),
    ]


def _label(text: str, level: float, x: int, anchor: str, color: str) -> Json:
    return {
        "text": f"{text} GiB",
        "xref": "paper",
        "x": x,
        "xanchor": anchor,
        "y": level,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": color, "size": 12},
    }
