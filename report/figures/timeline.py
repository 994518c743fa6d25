"""A simulated step -> passes, messages and bubbles of each pipeline rank over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from parc.compiler.schedule.timeline import Timeline

from .common import Axis, Entry, Json, Path, Plot, Scale, Tick, rectangle, ticks

#: Passes that are simulated, about.
SIMULATED = 16_000
#: Passes that are drawn: until the pipeline is full; the fewest, and the most that keep a page quick.
FEWEST_DRAWN, MOST_DRAWN = 1_000, 4_000
#: Micro-batches for each stage that are seen before anything is zoomed; the others lie to the right.
SEEN = 3
#: What is drawn, with its colour and what it means.
KINDS = {
    "forward": ("s1", "a micro-batch goes through the layers of a rank"),
    "backward": ("s0", "its gradients go back"),
    "send": ("s3", "the rank waits until the next one has its message"),
    "bubble": ("hole", "the rank waits for others"),
    "after the passes": ("s4", "gradient sync and optimizer"),
}
#: Units of the whole width and of a rank's row, of which a bar takes so much.
WIDE, ROW, THICK = 100_000, 10, 8
#: How much wider than the page the chart can be drawn.
ZOOMS = (1, 4, 16)
#: Ranks that are named, and ticks on a page's width.
NAMED, TICKS = 16, 6


class Span(NamedTuple):
    """An activity of a rank from one time to another, in nanoseconds of the step; `what` tells which pass."""

    kind: str
    rank: int
    begin: int
    end: int
    what: str = ""


def shown_microbatches(pp: int, vpp: int, microbatches: int) -> int:
    """The first micro-batches of a step whose passes are simulated: one for each rank at least, which shows
    the pipeline fill."""
    return min(microbatches, max(pp, SIMULATED // (2 * pp * vpp)))


def horizon(found: Timeline) -> int:
    """Nanoseconds until which all that runs is known and can be drawn: the step's end, the first pass of a
    micro-batch that is not shown, or the first of too many passes."""
    begins = sorted(run.begin for runs in found.runs for run in runs)
    pp, vpp = len(found.runs), len(found.passes[0])
    drawn = min(max(FEWEST_DRAWN, pp * pp * (vpp + 1)), MOST_DRAWN)
    if found.step_ns is not None and len(begins) <= drawn:
        return found.step_ns
    unknown = (
        run.begin for runs in found.runs for run in runs if run.work.microbatch >= found.shown
    )
    last = max(runs[-1].sent for runs in found.runs)
    return min([*unknown, last, *begins[drawn : drawn + 1]])


def timeline(found: Timeline) -> Plot:
    """Bars over the time of the step, a row a rank; a pass is one bar with its exchange in it."""
    kinds: dict[str, list[Span]] = defaultdict(list)
    end = horizon(found)
    for span in _bars(found, end):
        if span.begin < end:
            kinds[span.kind].append(span)
    shown = [kind for kind in KINDS if kinds[kind]]
    ranks = len(found.runs)
    across = Scale(0, end)
    return Plot(
        "Passes of each pipeline rank over time",
        min(44 * ranks, 14 * ranks + 260) + 10,
        Axis("seconds of the step", _times(Scale(0, end / 1e9))),
        Axis("pipeline rank", _ranks(ranks)),
        tuple(Path(f"bars {KINDS[kind][0]}", _drawn(kinds[kind], across)) for kind in shown),
        legend=tuple(
            Entry(f"square {KINDS[kind][0]}", kind, note=KINDS[kind][1]) for kind in shown
        ),
        wide=WIDE,
        high=ROW * ranks,
        zooms=_zooms(found, end),
        hover=_hover([(kind, kinds[kind]) for kind in shown], end),
    )


def _drawn(spans: list[Span], across: Scale) -> str:
    pieces = []
    for span in spans:
        left = across.at(span.begin, WIDE)
        width = max(1, across.at(span.end, WIDE) - left)
        pieces.append(rectangle(left, ROW * span.rank + (ROW - THICK) // 2, width, THICK))
    return "".join(pieces)


def _times(scale: Scale) -> tuple[Tick, ...]:
    """The ticks of each width."""
    return tuple(replace(tick, zoom=zoom) for zoom in ZOOMS for tick in ticks(scale, TICKS * zoom))


def _ranks(ranks: int) -> tuple[Tick, ...]:
    shown = range(0, ranks, -(-ranks // NAMED))
    return tuple(Tick(round(100 * (rank + 0.5) / ranks, 2), str(rank)) for rank in shown)


def _hover(kinds: list[tuple[str, list[Span]]], end: int) -> Json:
    """Hover data: each bar's pass; its rank and times follow from its place."""
    return {
        "kind": "spans",
        "names": [name for name, _ in kinds],
        "sets": [";".join(span.what for span in spans) for _, spans in kinds],
        "seconds": end / 1e9,
    }


def _zooms(found: Timeline, end: int) -> tuple[int, ...]:
    """The widths to choose from, that first which shows the pipeline fill: so many of its micro-batches at
    once that SEEN for each stage are through."""
    count = SEEN * len(found.runs) * len(found.passes[0])
    through = max(run.sent for runs in found.runs for run in runs if run.work.microbatch < count)
    first = max((zoom for zoom in ZOOMS if zoom * through <= end), default=1)
    return (first, *(zoom for zoom in ZOOMS if zoom != first))


def _bars(found: Timeline, end: int) -> Iterator[Span]:
    """Bars of each rank, in order, until `end`."""
    for rank, runs in enumerate(found.runs):
        now = 0
        for run in runs:
            if now >= end:
                break
            if run.begin > now:
                yield Span("bubble", rank, now, run.begin)
            chunk = f", chunk {run.work.chunk}" if len(found.passes[rank]) > 1 else ""
            kind = "backward" if run.work.backward else "forward"
            yield Span(kind, rank, run.begin, run.end, f" {run.work.microbatch}{chunk}")
            if run.sent > run.end:
                yield Span("send", rank, run.end, run.sent)
            now = run.sent
        if found.pipeline_ns is not None and found.step_ns is not None:
            if found.pipeline_ns > now:
                yield Span("bubble", rank, now, found.pipeline_ns)
            if found.step_ns > found.pipeline_ns:
                yield Span("after the passes", rank, found.pipeline_ns, found.step_ns)
