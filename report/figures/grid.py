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


def grid(layout: Layout, gpus_per_node: int) -> Json:
    """A cell a GPU: nodes from left to right and in rows of WIDE, GPUs of a node from top to bottom. The
    page's script chooses among `meta.colourings`."""
    per_node = min(gpus_per_node, layout.gpus)
    nodes = -(-layout.gpus // per_node)
    wide = min(nodes, WIDE)
    rows = -(-nodes // wide)
    found = colourings(layout)
    cells = [_cells(each.of_rank % PALETTE, per_node, wide, rows) for each in found]
    groups = [_cells(each.of_rank, per_node, wide, rows) for each in found]
    steps = [
        [edge / PALETTE, f"$g{number}"]
        for number in range(PALETTE)
        for edge in (number, number + 1)
    ]
    trace: Json = {
        "type": "heatmap",
        "z": cells[0],
        "customdata": groups[0],
        "zmin": -0.5,
        "zmax": PALETTE - 0.5,
        "colorscale": steps,
        "showscale": False,
        "xgap": 1.5 if wide <= 32 else 0.5,
        "ygap": 1.5 if rows <= 4 else 0.5,
        "hovertemplate": "",
    }
    made = figure(
        [trace],
        max(
            170,
            min(22 if rows == 1 else 12, 900 // (rows * (per_node + 1))) * rows * (per_node + 1)
            + 70,
        ),
        xaxis=axis(
            "node" if rows == 1 else f"node, in rows of {wide}",
            showgrid=False,
            dtick=max(1, wide // 8),
        ),
        yaxis=axis(
            "GPU of the node" if rows == 1 else "first node of the row",
            autorange="reversed",
            showgrid=False,
            tickmode="array",
            tickvals=_ticks(per_node, rows),
            ticktext=(
                [str(each) for each in range(0, per_node, 1 if per_node <= 8 else 4)]
                if rows == 1
                else [str(wide * row) for row in range(0, rows, -(-rows // 16))]
            ),
        ),
    )
    made["meta"] = {
        "per_node": per_node,
        "wide": wide,
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


def _ticks(per_node: int, rows: int) -> list[float]:
    if rows == 1:
        return list(range(0, per_node, 1 if per_node <= 8 else 4))
    return [(per_node + 1) * row + (per_node - 1) / 2 for row in range(0, rows, -(-rows // 16))]


def _cells(values: Integers, per_node: int, wide: int, rows: int) -> list[list[int | None]]:
    """One value per rank as rows of cells; an empty row between two rows of nodes."""
    lines: list[list[int | None]] = []
    for row in range(rows):
        if row:
            lines.append([None] * wide)
        for gpu in range(per_node):
            ranks = [(row * wide + node) * per_node + gpu for node in range(wide)]
            lines.append([int(values[each]) if each < len(values) else None for each in ranks])
    return lines
