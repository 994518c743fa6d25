"""A simulated step -> passes, messages and bubbles of each pipeline rank over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from parc.compiler.schedule.timeline import Timeline

from .common import Json, axis, figure

#: Passes that are simulated, about.
SIMULATED = 16_000
#: Passes that are drawn: until the pipeline is full; the fewest, and the most that keep a page quick.
FEWEST_DRAWN, MOST_DRAWN = 1_000, 4_000
#: Micro-batches for each stage that are seen before anything is zoomed; the others lie to the right.
SEEN = 3
#: What is drawn, with its colour.
KINDS = {
    "forward": "$s1",
    "backward": "$s0",
    "send": "$s3",
    "bubble": "$hole",
    "after the passes": "$s4",
}


class Bar(NamedTuple):
    """What a rank does from one time to another, in nanoseconds of the step; `what` tells which pass."""

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


def timeline(found: Timeline) -> Json:
    """Horizontal bars in seconds of the step, a row a rank; a pass is one bar with its exchange in it."""
    kinds: dict[str, list[Bar]] = defaultdict(list)
    end = horizon(found)
    for bar in _bars(found, end):
        if bar.begin < end:
            kinds[bar.kind].append(bar)
    ranks = len(found.runs)
    return figure(
        [_trace(kind, color, kinds[kind]) for kind, color in KINDS.items() if kinds[kind]],
        min(44 * ranks, 14 * ranks + 260) + 110,
        barmode="overlay",
        bargap=0.12,
        dragmode="zoom",
        showlegend=True,
        xaxis=axis("seconds of the step", fixedrange=False, range=[0, _seen(found, end) / 1e9]),
        yaxis=axis(
            "pipeline rank",
            range=[ranks - 0.5, -0.5],
            showgrid=False,
            tickmode="array",
            tickvals=list(range(0, ranks, -(-ranks // 16))),
        ),
        margin={"l": 56, "r": 16, "t": 12, "b": 90},
    )


def _bars(found: Timeline, end: int) -> Iterator[Bar]:
    """What each rank does, in order, until `end`."""
    for rank, runs in enumerate(found.runs):
        now = 0
        for run in runs:
            if now >= end:
                break
            if run.begin > now:
                yield Bar("bubble", rank, now, run.begin)
            chunk = f", chunk {run.work.chunk}" if len(found.passes[rank]) > 1 else ""
            kind = "backward" if run.work.backward else "forward"
            yield Bar(kind, rank, run.begin, run.end, f" {run.work.microbatch}{chunk}")
            if run.sent > run.end:
                yield Bar("send", rank, run.end, run.sent)
            now = run.sent
        if found.pipeline_ns is not None and found.step_ns is not None:
            if found.pipeline_ns > now:
                yield Bar("bubble", rank, now, found.pipeline_ns)
            if found.step_ns > found.pipeline_ns:
                yield Bar("after the passes", rank, found.pipeline_ns, found.step_ns)


def _seen(found: Timeline, end: int) -> int:
    """Nanoseconds that are seen at first: until SEEN micro-batches for each stage are through, which shows
    the pipeline fill, or everything where that is less than twice as much."""
    count = SEEN * len(found.runs) * len(found.passes[0])
    through = max(run.sent for runs in found.runs for run in runs if run.work.microbatch < count)
    return through if 2 * through < end else end


def _trace(kind: str, color: str, bars: list[Bar]) -> Json:
    return {
        "type": "bar",
        "orientation": "h",
        "name": kind,
        "y": [bar.rank for bar in bars],
        "base": [bar.begin / 1e9 for bar in bars],
        "x": [(bar.end - bar.begin) / 1e9 for bar in bars],
        "customdata": [bar.what for bar in bars],
        "marker": {"color": color, "line": {"color": "$paper", "width": 0.5}},
        "hovertemplate": f"{kind}%{{customdata}}, rank %{{y}}<br>from %{{base:.5g}} s, %{{x:.3g}} s"
        "<extra></extra>",
    }
