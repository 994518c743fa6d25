"""The rows of a sweep -> a table for a person; of a large sweep the Pareto front alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from parc.compiler.plan import Layout

from .sweep_report import Line, Report
from .terminal import print_text
from .words.numbers import duration, peak, short
from .words.paragraphs import words

#: Most lines of a table.
MOST_LINES = 100
MARK = "◆"
#: A criterion of the front in words.
WORDS = {"gpus": "GPUs", "energy_joules": "energy", "mfu": "MFU"}


class Cells(NamedTuple):
    """One line: the mark and what is swept, then numbers, none where there is no plan, then the rest."""

    texts: list[str]
    numbers: list[str]
    rest: str


def print_table(report: Report) -> None:
    """Prints the settings that are swept, their plans in columns, and a legend of the mark."""
    count = len(report.grid) * len(report.targets)
    shown = report.lines() if count <= MOST_LINES else filter(report.marked, report.lines())
    rows = [_head(report), *(_cells(report, line) for line in shown)]
    texts = _widths([row.texts for row in rows])
    numbers = _widths([row.numbers for row in rows if row.numbers])
    print_text(f"{_title(report)}\n")
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row.texts, texts, strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(row.numbers, numbers, strict=False)]
        print_text("  ".join([*cells, row.rest]).rstrip())
    print_text(f"\n{_foot(report)}")
    if count > MOST_LINES:
        print_text(f"only these of {count:,} lines are shown: --csv and --json have all")


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _title(report: Report) -> str:
    over = " × ".join(axis.path for axis in report.grid.axes)
    total, done = len(report.grid), report.results.count
    solved = f"{total:,} points" if done == total else f"{done:,} of {total:,} points"
    without = done - report.planned
    rest = f", {without:,} without a plan" if without else ""
    return f"{report.job.name}  {solved} of {over}{rest}"


def _foot(report: Report) -> str:
    if not report.planned:
        return "no point has a plan"
    *most, last = (WORDS.get(name, name) for name in report.weighed)
    weighed = f"{', '.join(most)} and {last}" if most else last
    said = f"{MARK} no other is at least as good in {weighed} and better in one"
    return "\n".join([said, *_unweighed(report)])


def _unweighed(report: Report) -> list[str]:
    """Why the front leaves out what it would weigh."""
    left_out = set(report.criteria) - set(report.weighed)
    lines = []
    if "mfu" in left_out:
        lines += words("", "MFU is not weighed: it is of each line's own peak")
    if "gpus" in left_out:
        lines += words("", "GPUs are not weighed: they are of different kinds")
    return lines


def _head(report: Report) -> Cells:
    paths = [axis.path for axis in report.grid.axes]
    words = [axis.name for axis in report.grid.axes]
    names = [
        word if words.count(word) == 1 else path for word, path in zip(words, paths, strict=True)
    ]
    target = ["target"] if len(report.targets) > 1 else []
    cost = ["cost"] if report.priced else []
    peak = ["of"] if report.peaks_differ else []
    numbers = ["GPUs", "days", *cost, "energy", "tokens/s/GPU", "MFU", *peak]
    return Cells(["", *names, *target], numbers, "layout")


def _cells(report: Report, line: Line) -> Cells:
    target = [line.target] if len(report.targets) > 1 else []
    texts = [MARK if report.marked(line) else "", *line.over.values(), *target]
    if (plan := line.plan) is None:
        reason = line.reason or {}
        return Cells(texts, [], f"{reason['code']}: {reason['message']}")
    cost = [f"{short(plan['cost'])}$"] if report.priced else []
    numbers = [f"{plan['gpus']:,}", duration(plan["days"]), *cost, _energy(plan["energy_joules"])]
    numbers += [f"{plan['tokens_per_second_per_gpu']:,.0f}", f"{plan['mfu']:.1%}"]
    if report.peaks_differ:
        numbers.append(peak(plan["precision"], plan["peak_flops"]))
    return Cells(texts, numbers, _splitting(plan["layout"]))


def _splitting(changed: dict[str, Any]) -> str:
    """How a layout splits the model and the batch, without the degrees that are 1."""
    layout = {**Layout().in_words, **changed}
    dp = int(layout["dp_replicate"]) * int(layout["dp_shard"])
    degrees = {name: layout[name] for name in ("tp", "pp", "vpp", "cp", "ep", "etp")}
    shown = [f"{name} {degree}" for name, degree in {**degrees, "dp": dp}.items() if degree != 1]
    return " · ".join([*shown, f"zero {layout['zero']}"] if layout["zero"] else shown)


def _energy(joules: float) -> str:
    """In watt-hours."""
    hours = joules / 3600
    for size, unit in ((1e9, "GWh"), (1e6, "MWh"), (1e3, "kWh")):
        if hours >= size:
            return f"{hours / size:.3g} {unit}"
    return f"{hours:.3g} Wh"
