"""The best layouts of each number of GPUs -> days and MFU over GPUs."""

from __future__ import annotations

from parc.compiler.plan import Plan

from ..landscape import Landscape
from .common import ACCENT, Json, axis, figure
from .landscape import words


def gpus(found: Landscape, plan: Plan) -> Json | None:
    """A line over GPUs in seconds of a step; None where the job has one number of GPUs."""
    if not found.by_nodes:
        return None
    counts = [point.layout["nodes"] * plan.job.cluster.gpus_per_node for point in found.by_nodes]
    line: Json = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": counts,
        "y": [point.step_seconds for point in found.by_nodes],
        "customdata": [words(point.layout) for point in found.by_nodes],
        "line": {"color": "$s1", "width": 2},
        "marker": {"size": 7},
        "hovertemplate": "%{x:,} GPUs: %{y:.4g} s<br>%{customdata}<extra></extra>",
    }
    chosen: Json = {
        "type": "scatter",
        "mode": "markers",
        "x": [plan.layout.gpus],
        "y": [plan.estimate.step_seconds],
        "marker": {"color": ACCENT, "size": 13},
        "hovertemplate": "chosen: %{x:,} GPUs, %{y:.4g} s<extra></extra>",
    }
    return figure(
        [line, chosen],
        340,
        xaxis=axis("GPUs", rangemode="tozero"),
        yaxis=axis("seconds of a step", rangemode="tozero"),
    )
