"""A layout -> the cluster's nodes and GPUs, coloured by pipeline stage or by group of ranks.

The order of ranks is that of the cost model (compiler/time/parallel_traffic.py): tp, cp, dp (shard, then
replicate), pp from the inside out; experts lie over consecutive ranks of a stage, their own tp inside.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from parc.compiler.plan import Layout

from .common import Json, axis, figure

#: Nodes side by side, before the next ones begin a new row: as many, or twice as many until the lines of all
#: rows fit into the pixels of a figure.
WIDE, HIGH = 64, 900
#: Colours that repeat.
PALETTE = 8


@dataclass(frozen=True)
class Colouring:
    """A way to colour GPUs: its name, how many groups of how many GPUs there are, and what a group means. The
    group of a rank is rank // block * stride + rank % stride."""

    name: str
    groups: int
    size: int
    meaning: str
    block: int
    stride: int = 1


def colourings(layout: Layout) -> list[Colouring]:
    """The stages of the pipeline, then the groups of every degree above 1."""
    inner = layout.tp * layout.cp
    stage = layout.gpus // layout.pp
    copies = "hold copies or shards of the same layers"
    found = [
        Colouring("pp", layout.pp, stage, "hold the same layers", stage),
        _group("tp", layout, 1, layout.tp, "split each layer between them"),
        _group("cp", layout, layout.tp, layout.cp, "split each sequence between them"),
        _group("ep", layout, layout.etp, layout.ep, "hold different experts, and exchange tokens"),
        _group("dp", layout, inner, layout.dp, copies),
    ]
    kept = [each for each in found if each.size > 1 and (each.name != "pp" or layout.pp > 1)]
    return kept or [Colouring("dp", 1, 1, "train alone", layout.gpus)]


def _group(name: str, layout: Layout, stride: int, size: int, meaning: str) -> Colouring:
    """Groups of `size` ranks that lie `stride` apart."""
    return Colouring(name, layout.gpus // max(size, 1), size, meaning, stride * size, stride)


@dataclass(frozen=True)
class Shape:
    """Where GPUs lie: how many of a node, nodes side by side, rows of nodes below each other."""

    per_node: int
    wide: int
    rows: int

    @property
    def height(self) -> int:
        """Of the figure, in pixels: cells of 22 at most in one row, of 12 in several, about HIGH in all."""
        cell = min(22 if self.rows == 1 else 12, max(1, HIGH // self.lines))
        return max(170, cell * self.lines + 70)

    @property
    def lines(self) -> int:
        """Of cells, with an empty one after each row."""
        return self.rows * (self.per_node + 1)


def _shape(gpus: int, gpus_per_node: int) -> Shape:
    per_node = min(gpus_per_node, gpus)
    nodes = -(-gpus // per_node)
    wide = WIDE
    while -(-nodes // wide) * (per_node + 1) > HIGH:
        wide *= 2
    wide = min(nodes, wide)
    return Shape(per_node, wide, -(-nodes // wide))


def grid(layout: Layout, gpus_per_node: int) -> Json:
    """A cell a GPU: nodes from left to right and in rows of WIDE, with an empty row between them, GPUs of a
    node from top to bottom. The page's script fills the cells by one of `meta.colourings`: a page does not
    grow with the cluster."""
    shape = _shape(layout.gpus, gpus_per_node)
    made = figure(
        [_heatmap(shape)],
        shape.height,
        xaxis=axis(
            "node" if shape.rows == 1 else f"node, in rows of {shape.wide}",
            showgrid=False,
            dtick=max(1, shape.wide // 8),
        ),
        yaxis=_downwards(shape),
    )
    made["meta"] = {
        "gpus": layout.gpus,
        "palette": PALETTE,
        **asdict(shape),
        "colourings": [asdict(each) for each in colourings(layout)],
    }
    return made


def _heatmap(shape: Shape) -> Json:
    steps = [
        [edge / PALETTE, f"$g{number}"]
        for number in range(PALETTE)
        for edge in (number, number + 1)
    ]
    return {
        "type": "heatmap",
        "z": [],
        "zmin": -0.5,
        "zmax": PALETTE - 0.5,
        "colorscale": steps,
        "showscale": False,
        "xgap": 1.5 if shape.wide <= 32 else 0.5 if shape.wide <= WIDE else 0,
        "ygap": 1.5 if shape.rows <= 4 else 0.5 if shape.lines <= HIGH // 3 else 0,
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
