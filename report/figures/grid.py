"""A layout -> the cluster's nodes and GPUs, coloured by pipeline stage or by group of ranks.

The order of ranks is that of the cost model (compiler/time/parallel_traffic.py): tp, cp, dp (shard, then
replicate), pp from the inside out; experts lie over consecutive ranks of a stage, their own tp inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parc.compiler.algebra import Integers
from parc.compiler.plan import Layout

from .common import Json, axis, figure

#: Nodes side by side, before the next ones begin a new row.
WIDE = 64
#: Colours that repeat.
PALETTE = 8
#: Rows of a number per GPU, None where there is no GPU.
Cells = list[list[int | None]]


@dataclass(frozen=True)
class Colouring:
    """A way to colour GPUs: its name, how many colours mean something, what they mean, and one per rank."""

    name: str
    groups: int
    size: int
    meaning: str
    of_rank: Integers


def colourings(layout: Layout) -> list[Colouring]:
    """The stages of the pipeline, then the groups of every degree above 1."""
    ranks = np.arange(layout.gpus)
    stage = layout.gpus // layout.pp
    found = [
        Colouring("pp", layout.pp, stage, "hold the same layers", ranks // stage),
        _group("tp", ranks, 1, layout.tp, "split each layer between them"),
        _group("cp", ranks, layout.tp, layout.cp, "split each sequence between them"),
        _group("ep", ranks, layout.etp, layout.ep, "hold different experts, and exchange tokens"),
        _group(
            "dp",
            ranks,
            layout.tp * layout.cp,
            layout.dp,
            "hold copies or shards of the same layers",
        ),
    ]
    kept = [each for each in found if each.size > 1 and (each.name != "pp" or layout.pp > 1)]
    return kept or [Colouring("dp", 1, 1, "train alone", ranks * 0)]


def _group(name: str, ranks: Integers, stride: int, size: int, meaning: str) -> Colouring:
    """Groups of `size` ranks that lie `stride` apart."""
    block = stride * size
    number = ranks // block * stride + ranks % stride
    return Colouring(name, len(ranks) // max(size, 1), size, meaning, number)


@dataclass(frozen=True)
class Shape:
    """Where GPUs lie: how many of a node, nodes side by side, rows of nodes below each other."""

    per_node: int
    wide: int
    rows: int

    @property
    def height(self) -> int:
        """Of the figure, in pixels: cells of 22 at most in one row, of 12 in several, about 900 in all."""
        lines = self.rows * (self.per_node + 1)
        return max(170, min(22 if self.rows == 1 else 12, 900 // lines) * lines + 70)


def _shape(gpus: int, gpus_per_node: int) -> Shape:
    per_node = min(gpus_per_node, gpus)
    nodes = -(-gpus // per_node)
    wide = min(nodes, WIDE)
    return Shape(per_node, wide, -(-nodes // wide))


def grid(layout: Layout, gpus_per_node: int) -> Json:
    """A cell a GPU: nodes from left to right and in rows of WIDE, GPUs of a node from top to bottom. The
    page's script chooses among `meta.colourings`."""
    shape = _shape(layout.gpus, gpus_per_node)
    found = colourings(layout)
    cells = [_cells(each.of_rank % PALETTE, shape) for each in found]
    groups = [_cells(each.of_rank, shape) for each in found]
    made = figure(
        [_heatmap(cells[0], groups[0], shape)],
        shape.height,
        xaxis=axis(
            "node" if shape.rows == 1 else f"node, in rows of {shape.wide}",
            showgrid=False,
            dtick=max(1, shape.wide // 8),
        ),
        yaxis=_downwards(shape),
    )
    made["meta"] = {
        "per_node": shape.per_node,
        "wide": shape.wide,
        "colourings": [
            {
                "name": each.name,
                "meaning": each.meaning,
                "groups": each.groups,
                "size": each.size,
                "z": z,
                "group": group,
            }
            for each, z, group in zip(found, cells, groups, strict=True)
        ],
    }
    return made


def _heatmap(colours: Cells, groups: Cells, shape: Shape) -> Json:
    steps = [
        [edge / PALETTE, f"$g{number}"]
        for number in range(PALETTE)
        for edge in (number, number + 1)
    ]
    return {
        "type": "heatmap",
        "z": colours,
        "customdata": groups,
        "zmin": -0.5,
        "zmax": PALETTE - 0.5,
        "colorscale": steps,
        "showscale": False,
        "xgap": 1.5 if shape.wide <= 32 else 0.5,
        "ygap": 1.5 if shape.rows <= 4 else 0.5,
        "hovertemplate": "",
    }


def _downwards(shape: Shape) -> Json:
    """The axis of GPUs of one row of nodes, or of the first nodes of several rows."""
    if shape.rows == 1:
        gpus = range(0, shape.per_node, 1 if shape.per_node <= 8 else 4)
        ticks = {float(gpu): str(gpu) for gpu in gpus}
    else:
        first = range(0, shape.rows, -(-shape.rows // 16))
        middle = (shape.per_node - 1) / 2
        ticks = {(shape.per_node + 1) * row + middle: str(shape.wide * row) for row in first}
    return axis(
        "GPU of the node" if shape.rows == 1 else "first node of the row",
        autorange="reversed",
        showgrid=False,
        tickmode="array",
        tickvals=list(ticks),
        ticktext=list(ticks.values()),
    )


def _cells(values: Integers, shape: Shape) -> Cells:
    """One value per rank as rows of cells; an empty row between two rows of nodes."""
    lines: Cells = []
    for row in range(shape.rows):
        if row:
            lines.append([None] * shape.wide)
        for gpu in range(shape.per_node):
            ranks = [(row * shape.wide + node) * shape.per_node + gpu for node in range(shape.wide)]
            lines.append([int(values[each]) if each < len(values) else None for each in ranks])
    return lines
