"""How well the cost model predicts measured runs: python benchmarks/accuracy/accuracy.py --data FILE.csv

Reads any file in the form of data/measured_public.csv and reports the error of the predicted step
time by source, GPU and framework, rank correlation and regret over layouts of one job, memory,
out-of-memory, how true bands and risks are, and why rows were left out.
Exit codes: 0 something was scored, 1 nothing was, 2 the file or the arguments are unusable.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy.report import document_tables, doubt_scores, scores, torchtitan_memory
from benchmarks.accuracy.report.plain_text import text
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.rows.csv_rows import (
    Row,
    Unreadable,
    Unusable,
    records,
    row_or_reason,
    unread,
)
from benchmarks.accuracy.rows.measured_seconds import measured_seconds
from benchmarks.accuracy.rows.memory_figures import gauge_of
from benchmarks.accuracy.setups.not_priced import limits_of
from benchmarks.accuracy.setups.prediction import predict, price_range
from benchmarks.accuracy.setups.setup import setup_of
from benchmarks.accuracy.setups.stacks import SIMULATOR, familiar

DATA = Path(__file__).parents[1] / "data" / "measured_public.csv"
#: Runs of sources that nothing was fitted to and no stack was written for.
FRESH = DATA.with_name("measured_fresh.csv")
#: How sources of advice and arithmetic begin.
ADVISERS = "guide"
ADVICE = "advice or arithmetic, not a measurement"
TPU = "TPU rows are context only"
NOT_STATED = "not stated"
NOTHING = "no time, memory or out-of-memory mark"


@dataclass
class Score:
    """Everything that a run of this command knows."""

    runs: list[Scored] = field(default_factory=list)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def skip(self, source: str, name: str, reason: str) -> None:
        self.skipped[source, reason] += 1
        self.examples.setdefault(reason, []).append(name)


def score(path: Path, source: str | None = None) -> Score:
    """Price every row of a file, or those of one source. Raises Unreadable."""
    header, lines = records(path)
    result = Score(unread=unread(header))
    for number, record in enumerate(lines, 2):
        name = str(record.get("source") or "source not stated")
        if source is not None and source.lower() not in name.lower():
            continue
        label = str(record.get("id") or f"line {number}")
        try:
            result.runs.append(_scored(row_or_reason(record)))
        except Unusable as reason:
            result.skip(name, label, str(reason))
    return result


def _scored(row: Row | Unusable) -> Scored:
    if isinstance(row, Unusable):
        raise row
    if (reason := outside(row)) is not None:
        raise Unusable(reason)
    if not (row.timed or row.mem_gb or row.oom):
        raise Unusable(NOTHING)
    gauge_of(row)
    setup = setup_of(row)
    seconds = None if row.oom else measured_seconds(setup.case, row)
    prediction = predict(setup)
    return Scored(setup, prediction, seconds, price_range(setup, prediction.layout))


def outside(row: Row) -> str | None:
    """Why a row is no measurement of a GPU."""
    if row.source.startswith(ADVISERS):
        return ADVICE
    return TPU if row.gpu.startswith("TPU") else None


def report(result: Score) -> dict[str, Any]:
    """The JSON document; fractions, not percent.

    Headlines are of rows that a machine ran: of those that state their layout, and of those that leave fields
    open at parc's own completion. A simulator's stand apart.
    """
    ran = [run for run in result.runs if measured(run.row)]
    runs = [run for run in ran if run.range is None]
    by_source = scores.gather(ran, lambda run: run.row.source)
    simulated = [run for run in result.runs if not measured(run.row)]
    apart = {run.row.source for run in simulated}
    names = sorted({*by_source, *(name for name, _ in result.skipped)} - apart)
    sourced = {name: _of_source(result, name, by_source.get(name, [])) for name in names}
    found = scores.groups(runs)
    return {
        "overall": {
            "rows": scores.errors(runs),
            "median_of_sources": scores.median_of(sourced.values()),
            "measured": scores.errors(runs),
            "open": scores.ranges(ran),
            "completed": _completed(ran, sourced),
            "in_band": doubt_scores.in_band(runs),
        },
        "by_source": sourced,
        "by_kind": scores.errors_by(runs, lambda run: run.kind),
        "by_gpu": scores.errors_by(runs, lambda run: run.row.gpu_part or run.row.gpu),
        "by_framework": scores.errors_by(runs, lambda run: run.row.framework or NOT_STATED),
        "unfamiliar": _unfamiliar(result.runs),
        "groups": found,
        "group_summary": _summaries(found),
        "simulated": _simulated(simulated),
        "repeats": scores.repeats(runs),
        "memory": scores.memory(runs),
        "torchtitan_memory": torchtitan_memory.score(),
        "oom": scores.out_of_memory(runs),
        "risk": doubt_scores.risk(runs),
        "inexpressible": dict(Counter(limit for run in runs for limit in limits_of(run.setup))),
        "skipped": _reasons(result),
        "coverage": _coverage(len(result.runs), result.skipped),
    }


def _of_source(result: Score, name: str, ran: Sequence[Scored]) -> dict[str, Any]:
    skipped = Counter({key: count for key, count in result.skipped.items() if key[0] == name})
    runs = [run for run in ran if run.range is None]
    return {
        **scores.errors(runs),
        "coverage": _coverage(len(ran), skipped),
        "by_kind": scores.errors_by(runs, lambda run: run.kind),
        "open": scores.ranges(ran),
        "completed": scores.completed(ran),
    }


def _completed(ran: Sequence[Scored], sourced: Mapping[str, Any]) -> dict[str, Any]:
    """Errors of completed rows by kind of model, of all, and their medians over sources."""
    found = [run for run in ran if run.range]
    return {
        **scores.errors(found),
        "by_kind": scores.errors_by(found, lambda run: run.kind),
        "median_of_sources": scores.median_of(each["completed"] for each in sourced.values()),
    }


def _unfamiliar(runs: Sequence[Scored]) -> dict[str, int]:
    """Priced rows of frameworks that the table of stacks lacks, by what they say."""
    names = (run.row.framework for run in runs if not familiar(run.row.framework))
    return dict(Counter(name or NOT_STATED for name in names))


def _simulated(runs: Sequence[Scored]) -> dict[str, Any]:
    """Errors and ranking of rows that a simulator put together, by source."""
    by_source = scores.gather(runs, lambda run: run.row.source)
    return {
        name: {**scores.errors(of_it), "ranking": scores.summary(scores.groups(of_it))}
        for name, of_it in sorted(by_source.items())
    }


def _coverage(priced: int, skipped: Counter[tuple[str, str]]) -> float | None:
    """Share of the measured GPU rows that are priced; None when there are none."""
    outside = (ADVICE, TPU)
    left_out = sum(count for (_, reason), count in skipped.items() if reason not in outside)
    return priced / (priced + left_out) if priced + left_out else None


def _reasons(result: Score) -> dict[str, int]:
    reasons: Counter[str] = Counter()
    for (_, reason), count in result.skipped.items():
        reasons[reason] += count
    return dict(reasons.most_common())


def _summaries(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    by_source = {
        name: scores.summary([group for group in found if group["source"] == name])
        for name in sorted({group["source"] for group in found})
    }
    return {"all": scores.summary(found), "by_source": by_source}


def measured(row: Row) -> bool:
    """Whether a machine ran a row as it stands, and no simulator put it together."""
    return row.framework != SIMULATOR


def worst(result: Score, count: int) -> list[dict[str, Any]]:
    """The rows with the largest errors."""
    order = sorted(scores.timed(result.runs), key=lambda run: -abs(run.error))
    return [
        {
            "id": run.row.id,
            "job": scores.job_text(run),
            "layout": dict(run.prediction.layout),
            "measured": run.measured,
            "predicted": run.prediction.seconds,
            "error": run.error,
            "range": run.range,
            "time": {part: round(seconds, 4) for part, seconds in run.prediction.time.items()},
        }
        for run in order[:count]
    ]


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Score the cost model on measured runs.")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="CSV in the form of measured_public.csv"
    )
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument("--source", help="only rows whose source contains this")
    parser.add_argument(
        "--worst",
        type=_count,
        default=0,
        metavar="N",
        help="list the N rows with the largest errors",
    )
    parser.add_argument(
        "--docs",
        action="store_true",
        help="renew the tables of docs/cost-model/ and README.md, with measured_fresh.csv its own",
    )
    return parser.parse_args(given)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of rows, 0 or more")
    return int(text)


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    try:
        result = score(asked.data, asked.source)
    except Unreadable as error:
        print(f"accuracy: {error}", file=sys.stderr)
        return 2
    for name in result.unread:
        print(f"accuracy: {asked.data}: nothing reads column `{name}`", file=sys.stderr)
    status = 0 if result.runs else 1
    document = report(result)
    if asked.worst > 0:
        document["worst"] = worst(result, asked.worst)
    if asked.json:
        try:
            asked.json.write_text(json.dumps(document, indent=2) + "\n")
        except OSError as error:
            print(f"accuracy: {error}", file=sys.stderr)
            status = 2
    if asked.docs and asked.data.resolve() == FRESH:
        document_tables.write_fresh(document)
    elif asked.docs:
        document_tables.write(document)
    print(text(document, result.examples))
    return status


if __name__ == "__main__":
    # A reader that goes early, as in `accuracy.py | head`, ends it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
