"""A timeline -> the text of a trace in Chrome's Trace Event Format, which Perfetto and chrome://tracing open.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. A pipeline rank is
a process and a lane a thread; "X" is an event with its duration, "M" gives a name; times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .plan_json import JsonObject

if TYPE_CHECKING:
    from parc.compiler.plan import Stage
    from parc.compiler.schedule.timeline import Event, Timeline

#: Begins every trace that parc writes.
OURS = '{"otherData": {"written_by": "parc trace"'


def trace_text(about: JsonObject, stages: Sequence[Stage], found: Timeline) -> str:
    """The trace, an event a line; `about` is kept beside the events."""
    from parc.compiler.schedule.timeline import LANES

    numbers = {lane: number for number, lane in enumerate(LANES)}
    lines = [*_names(stages, numbers), *(_event(each, numbers) for each in found.events())]
    head = json.dumps({"otherData": {"written_by": "parc trace", **about}, "displayTimeUnit": "ms"})
    events = ",\n".join(map(json.dumps, lines))
    return f'{head[:-1]}, "traceEvents": [\n{events}\n]}}\n'


def timeline_json(found: Timeline) -> JsonObject:
    """The times of a trace in seconds; those of the whole step are null where only its beginning is shown."""

    def seconds(nanoseconds: int | None) -> float | None:
        return None if nanoseconds is None else nanoseconds / 1e9

    return {
        "schedule": found.schedule,
        "microbatches_shown": found.shown,
        "step_seconds": seconds(found.step_ns),
        "pipeline_seconds": seconds(found.pipeline_ns),
        "pipeline_seconds_of_plan": found.closed_form_ns / 1e9,
        "after_seconds": {part: value / 1e9 for part, value in found.after.items()},
    }


def _names(stages: Sequence[Stage], numbers: dict[str, int]) -> Iterator[JsonObject]:
    for stage in stages:
        at: JsonObject = {"ph": "M", "pid": stage.index, "tid": 0}
        yield {**at, "name": "process_name", "args": {"name": _rank_name(stage)}}
        yield {**at, "name": "process_sort_index", "args": {"sort_index": stage.index}}
        for lane, number in numbers.items():
            yield {**at, "tid": number, "name": "thread_name", "args": {"name": lane}}
            yield {
                **at,
                "tid": number,
                "name": "thread_sort_index",
                "args": {"sort_index": number},
            }


def _rank_name(stage: Stage) -> str:
    layers = " + ".join(map(str, stage.layers))
    ends = [name for name in ("embedding", "head") if getattr(stage, name)]
    return ", ".join([f"pipeline rank {stage.index}: {layers} layers", *ends])


def _event(event: Event, numbers: dict[str, int]) -> JsonObject:
    found: JsonObject = {
        "ph": "X",
        "pid": event.rank,
        "tid": numbers[event.lane],
        "cat": event.lane,
        "name": event.name,
        "ts": event.begin / 1000,
        "dur": (event.end - event.begin) / 1000,
    }
    if event.microbatch is not None:
        found["args"] = {"microbatch": event.microbatch, "chunk": event.chunk}
    return found
