"""A simulated step -> passes, messages and bubbles of each pipeline rank over time."""

from __future__ import annotations

from collections import defaultdict

from parc.compiler.schedule.timeline import Timeline

from .common import Json, axis, figure

#: Passes that are drawn at most: more would make the page slow.
MOST_PASSES = 1_000
#: Micro-batches for each stage that are seen before anything is zoomed; the others lie to the right.
SEEN = 3
KINDS = {
    "forward": "$s1",
    "backward": "$s0",
    "send": "$s3",
    "bubble": "$hole",
    "after the passes": "$s4",
}


def shown_microbatches(pp: int, vpp: int, microbatches: int) -> int:
    """The first micro-batches of a step whose passes can be drawn: one at least."""
    return max(1, min(microbatches, MOST_PASSES // (2 * pp * vpp)))


def timeline(found: Timeline) -> Json:
    """Horizontal bars in seconds of the step, a row a rank; a pass is one bar with its exchange in it."""
    rows: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
    for rank, runs in enumerate(found.runs):
        now = 0
        for run in runs:
            if run.work.microbatch >= found.shown:
                now = run.sent
                continue
            kind = "backward" if run.work.backward else "forward"
            chunk = f", chunk {run.work.chunk}" if len(found.passes[rank]) > 1 else ""
            if run.begin > now:
                rows["bubble"].append((rank, now, run.begin, ""))
            rows[kind].append((rank, run.begin, run.end, f" {run.work.microbatch}{chunk}"))
            if run.sent > run.end:
                rows["send"].append((rank, run.end, run.sent, ""))
            now = run.sent
        if found.pipeline_ns is not None:
            if found.pipeline_ns > now:
                rows["bubble"].append((rank, now, found.pipeline_ns, ""))
            if found.after:
                end = found.pipeline_ns + sum(found.after.values())
                rows["after the passes"].append((rank, found.pipeline_ns, end, ""))
    ranks = len(found.runs)
    return figure(
        [_bars(kind, color, rows[kind]) for kind, color in KINDS.items() if rows[kind]],
        min(44 * ranks, 14 * ranks + 260) + 110,
        barmode="overlay",
        bargap=0.12,
        dragmode="zoom",
        showlegend=True,
        xaxis=axis("seconds of the step", fixedrange=False, range=[0, _seen(found)]),
        yaxis=axis(
            "pipeline rank",
            range=[ranks - 0.5, -0.5],
            showgrid=False,
            tickmode="array",
            tickvals=list(range(0, ranks, -(-ranks // 16))),
        ),
        margin={"l": 56, "r": 16, "t": 12, "b": 90},
    )


def _seen(found: Timeline) -> float:
    """Seconds until SEEN micro-batches for each stage are through, which shows the pipeline fill; all where
    that is most of what is drawn."""
    count = SEEN * len(found.runs) * len(found.passes[0])
    last = [run for runs in found.runs for run in runs if run.work.microbatch < found.shown]
    end = max(run.sent for run in last)
    if found.shown <= 2 * count:
        after = sum(found.after.values()) if found.pipeline_ns is not None else 0
        return (end + after) / 1e9
    return max(run.sent for run in last if run.work.microbatch < count) / 1e9


def _bars(kind: str, color: str, rows: list[tuple[int, int, int, str]]) -> Json:
    return {
        "type": "bar",
        "orientation": "h",
        "name": kind,
        "y": [rank for rank, *_ in rows],
        "base": [begin / 1e9 for _, begin, _, _ in rows],
        "x": [(end - begin) / 1e9 for _, begin, end, _ in rows],
        "customdata": [what for *_, what in rows],
        "marker": {"color": color, "line": {"color": "$paper", "width": 0.5}},
        "hovertemplate": f"{kind}%{{customdata}}, rank %{{y}}<br>from %{{base:.5g}} s, %{{x:.3g}} s"
        "<extra></extra>",
    }
