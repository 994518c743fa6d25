"""A layout -> the cluster's nodes and GPUs, coloured by pipeline stage or by group of ranks.

The order of ranks is that of the cost model (compiler/time/parallel_traffic.py): tp, cp, dp (shard, then
replicate), pp from the inside out; experts lie over consecutive ranks of a stage, their own tp inside.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np

from parc.compiler.algebra import Integers
from parc.compiler.plan import Layout

from .common import Axis, Json, Path, Tick, rectangle

#: Nodes side by side, before the next ones begin a new row: as many, or twice as many until the lines of all
#: rows fit into the pixels of a figure.
WIDE, HIGH = 64, 900
#: Colours that repeat.
PALETTE = 8
#: Rectangles of one colour or of several that a colouring has at most: more of them are too small to be seen.
MOST = 4_000
#: Pixels of a cell that is drawn apart from the next one, at least.
APART = 4


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
    def lines(self) -> int:
        """Height in lines of cells, with an empty line after each row."""
        return self.rows * (self.per_node + 1)


def _shape(gpus: int, gpus_per_node: int) -> Shape:
    per_node = min(gpus_per_node, gpus)
    nodes = -(-gpus // per_node)
    wide = WIDE
    while -(-nodes // wide) * (per_node + 1) > HIGH:
        wide *= 2
    wide = min(nodes, wide)
    return Shape(per_node, wide, -(-nodes // wide))


@dataclass(frozen=True)
class Grid:
    """A chart of cells, so many pixels high, in units of a cell; each colouring has its text and paths."""

    height: int
    wide: int
    high: int
    x: Axis
    y: Axis
    gaps: str
    colourings: tuple[tuple[str, str, tuple[Path, ...]], ...]
    hover: Json = field(default_factory=dict)

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(f"in-{place}", name) for place, (name, _, _) in enumerate(self.colourings)]


def grid(layout: Layout, gpus_per_node: int) -> Grid:
    """A cell a GPU: nodes from left to right and in rows of WIDE, with an empty line between two rows; GPUs
    of a node from top to bottom."""
    shape = _shape(layout.gpus, gpus_per_node)
    drawn = [(each, _rectangles(shape, layout.gpus, each)) for each in colourings(layout)]
    shown = [(each, found) for each, found in drawn if len(found) <= MOST] or drawn[:1]
    cell = min(22 if shape.rows == 1 else 12, max(1, HIGH // shape.lines))
    return Grid(
        max(60, cell * (shape.lines - 1)),
        shape.wide,
        shape.lines - 1,
        Axis("node" if shape.rows == 1 else f"node, in rows of {shape.wide}", _across(shape)),
        Axis("GPU of the node" if shape.rows == 1 else "first node of the row", _downwards(shape)),
        _gaps(shape, cell),
        tuple((each.name, meaning(each), _paths(found)) for each, found in shown),
        {
            "kind": "grid",
            "gpus": layout.gpus,
            "perNode": shape.per_node,
            "wide": shape.wide,
            "lines": shape.lines - 1,
            "colourings": [asdict(each) for each, _ in drawn],
        },
    )


def meaning(each: Colouring) -> str:
    """The meaning of a colour, in words."""
    if each.name == "pp":
        return f"{each.groups:,} pipeline stages; GPUs of one stage {each.meaning}."
    repeated = " Colours repeat." if each.groups > PALETTE else ""
    groups = f"{each.groups:,} {each.name} group{'s' * (each.groups > 1)}"
    sizes = f"{each.size:,} GPU{'s' * (each.size > 1)}"
    return f"{groups} of {sizes}, which {each.meaning}.{repeated}"


def _cells(shape: Shape, gpus: int, each: Colouring) -> Integers:
    """The colour of each cell, line by line; -1 where there is no GPU."""
    lines = np.arange(shape.lines - 1)[:, np.newaxis]
    gpu = lines % (shape.per_node + 1)
    node = lines // (shape.per_node + 1) * shape.wide + np.arange(shape.wide)
    rank = node * shape.per_node + gpu
    group = rank // each.block * each.stride + rank % each.stride
    there = (gpu < shape.per_node) & (rank < gpus)
    return np.where(there, group % PALETTE, -1).astype(np.int64)


def _rectangles(shape: Shape, gpus: int, each: Colouring) -> list[tuple[int, int, int, int, int]]:
    """Colour, left, top, width and height: cells of one colour in a line are one, and so are equal ones of
    lines below each other."""
    done: list[tuple[int, int, int, int, int]] = []
    open_: dict[tuple[int, int, int], int] = {}
    for y, line in enumerate(_cells(shape, gpus, each)):
        ends = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), len(line)]
        runs = [
            (int(line[begin]), begin, end)
            for begin, end in zip(ends, ends[1:], strict=False)
            if line[begin] >= 0
        ]
        now = {run: open_.pop(run, y) for run in runs}
        done += [(*_box(run), top, y) for run, top in open_.items()]
        open_ = now
    done += [(*_box(run), top, shape.lines - 1) for run, top in open_.items()]
    return [(color, left, top, width, end - top) for color, left, width, top, end in done]


def _box(run: tuple[int, int, int]) -> tuple[int, int, int]:
    color, begin, end = run
    return color, begin, end - begin


def _paths(rectangles: list[tuple[int, int, int, int, int]]) -> tuple[Path, ...]:
    texts = [""] * PALETTE
    for color, left, top, width, height in sorted(rectangles):
        texts[color] += rectangle(left, top, width, height)
    return tuple(Path(f"bars g{number}", text) for number, text in enumerate(texts) if text)


def _gaps(shape: Shape, cell: int) -> str:
    """Lines that part nodes and GPUs, where cells are large enough."""
    high = shape.lines - 1
    nodes = [f"M{x} 0V{high}" for x in range(1, shape.wide)] if shape.wide <= WIDE else []
    gpus = [f"M0 {y}H{shape.wide}" for y in range(1, high)] if cell >= APART else []
    return "".join([*nodes, *gpus])


def _across(shape: Shape) -> tuple[Tick, ...]:
    step = max(1, shape.wide // 8)
    nodes = range(0, shape.wide, step)
    return tuple(
        Tick(round(100 * (node + 0.5) / shape.wide, 2), str(node), not (node // step) % 2)
        for node in nodes
    )


def _downwards(shape: Shape) -> tuple[Tick, ...]:
    """GPUs of one row of nodes, or the first nodes of several rows."""
    if shape.rows == 1:
        gpus = range(0, shape.per_node, 2 if shape.per_node <= 8 else 4)
        places = {gpu + 0.5: str(gpu) for gpu in gpus}
    else:
        first = range(0, shape.rows, -(-shape.rows // 16))
        middle = shape.per_node / 2
        places = {(shape.per_node + 1) * row + middle: str(shape.wide * row) for row in first}
    return tuple(
        Tick(round(100 * place / (shape.lines - 1), 2), text) for place, text in places.items()
    )
