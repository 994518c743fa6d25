"""The rows of a sweep -> CSV and JSON, with what is on the Pareto front; rows are streamed."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from parc.compiler.plan import Layout
from parc.dsl.job import Job

from ..sweep.front import Front, comparable, priced
from ..sweep.grid import Grid
from ..sweep.results import Results
from .plan_json import JsonObject, job_json
from .terminal import print_text

#: Numbers of a plan in CSV and JSON, with their units in docs/sweep.md.
NUMBERS = (
    "gpus", "nodes", "days", "cost", "energy_joules", "mfu", "peak_flops", "step_seconds",
    "tokens_per_second", "tokens_per_second_per_gpu", "tflops_per_gpu", "memory_bytes", "out_of_memory",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One point on one target: the point's values by path, and a plan, or the reason why there is none."""

    point: int
    over: dict[str, str]
    target: str
    plan: dict[str, Any] | None
    reason: dict[str, str] | None


@dataclass(frozen=True)
class Report:
    """The results of a sweep so far. `criteria` are for the front to weigh, `named` by the user or all."""

    job: Job
    grid: Grid
    targets: Sequence[str]
    results: Results
    criteria: Sequence[str]
    named: bool = False

    def lines(self) -> Iterator[Line]:
        """In the order of the grid; of one point the best plan first."""
        for point, row in self.results:
            yield from lines_of(point, row)

    @cached_property
    def front(self) -> Front:
        """The front over all points and targets."""
        front = Front(self.weighed)
        for line in self.lines():
            if line.plan is not None:
                front.add((line.point, line.target), line.plan)
        return front

    @cached_property
    def _kinds(self) -> tuple[frozenset[float], frozenset[str]]:
        """The peaks that MFU is of, in FLOP/s, and the kinds of GPUs."""
        found = {
            (line.plan["peak_flops"], line.plan["gpu"])
            for line in self.lines()
            if line.plan is not None
        }
        peaks, gpus = zip(*found, strict=True) if found else ((), ())
        return frozenset(peaks), frozenset(gpus)

    @property
    def peaks_differ(self) -> bool:
        """Whether the MFU of the plans are of different peaks, and do not compare."""
        return len(self._kinds[0]) > 1

    @cached_property
    def weighed(self) -> list[str]:
        """The criteria that compare all plans, which are those of the front."""
        peaks, gpus = map(len, self._kinds)
        return comparable(self.criteria, peaks, gpus, named=self.named, priced=self.priced)

    def marked(self, line: Line) -> bool:
        return (line.point, line.target) in self.front

    @property
    def priced(self) -> bool:
        """Whether there is a cost to show."""
        return priced(self.job, self.grid)

    @cached_property
    def planned(self) -> int:
        """Points with a plan on at least one target."""
        return sum(bool(row["plans"]) for _, row in self.results)


def lines_of(point: int, row: JsonObject) -> Iterator[Line]:
    """A line for each target of one point."""
    found: Any = row
    for plan in found["plans"]:
        yield Line(point, found["over"], plan["target"], plan, None)
    for reason in found["refused"]:
        yield Line(point, found["over"], reason["target"], None, reason)


def print_csv(report: Report) -> None:
    """A line for each point and target; what a plan has alone is empty where there is none."""
    paths = [axis.path for axis in report.grid.axes]
    degrees = list(Layout.model_fields)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*paths, "target", "front", "code", "reason", *NUMBERS, "proof", *degrees])
    neutral = Layout().in_words
    for line in report.lines():
        reason, plan = line.reason or {}, line.plan or {}
        layout = {**neutral, **plan["layout"]} if plan else {}
        columns: list[object] = [line.over[path] for path in paths]
        columns += [
            line.target,
            int(report.marked(line)),
            reason.get("code"),
            reason.get("message"),
        ]
        columns += [plan.get(name) for name in (*NUMBERS, "proof")]
        writer.writerow([*columns, *(layout.get(name) for name in degrees)])


def print_sweep_json(report: Report) -> None:
    """One object, whose points are written one by one."""
    head = {
        "parc": version("parc-compiler"),
        "job": job_json(report.job),
        "targets": list(report.targets),
        "over": {axis.path: list(axis.values) for axis in report.grid.axes},
        "front": report.weighed,
        "points": [],
    }
    text = json.dumps(head, indent=2, ensure_ascii=False)
    opening = text[: text.rindex("[]")] + "["
    print_text(opening)
    last = None
    for point, row in report.results:
        if last is not None:
            print_text(f"    {last},")
        last = json.dumps(_point_json(report, point, row), ensure_ascii=False)
    print_text(f"    {last}\n  ]\n}}" if last else "  ]\n}")


def _point_json(report: Report, point: int, row: JsonObject) -> JsonObject:
    plans = [
        {**line.plan, "front": report.marked(line)} for line in lines_of(point, row) if line.plan
    ]
    return {"over": row["over"], "plans": plans, "refused": row["refused"]}
