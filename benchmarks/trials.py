"""Whether short trials find a better layout: on measured sweeps, of which only the trials' times are told.

    python benchmarks/trials.py [--data FILE.csv] [--runs 2,3,5] [--json FILE] [--docs]

In each sweep of measured runs with more layouts than trials (benchmarks/accuracy/report/scores.py), those
measured are all that contend. `parc trials`' own choice (calibrate/trials.py) names those to run;
their measured times are told, and the layout that is then believed to be the best is taken. Its regret is by
what share it ran slower than the fastest. Beside it stand the mean over random trials and the best that any
set of so many trials could do (as far as sets are few enough to try all).

`--json` writes {"by_source": {name: {"sweeps", "before", "after": {"3": {"chosen", "random", "best"}, ...}}},
"mean": ...}: mean regrets, "mean" over sources. The same file gives the same numbers. Exits 1 when no sweep
is large enough, 2 when the file or the arguments are unusable.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks.accuracy import accuracy
from benchmarks.accuracy.fit_spreads import shares_of
from benchmarks.accuracy.report import document_tables, scores
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.accuracy.rows.csv_rows import Unreadable
from parc.calibrate.trials import Prior, after, chosen
from parc.compiler.pricing.mechanisms import SPREADS, Floats, kinship
from parc.compiler.variables import ORDER

RUNS = (2, 3, 5)
#: Random sets of trials, and the most sets that are all tried.
RANDOM, ALL = 200, 4000
WAYS = ("chosen", "random", "best")
Regrets = dict[str, float | None]


@dataclass(frozen=True)
class Sweep:
    """Layouts of one job: what is believed of them, and what they took."""

    source: str
    prior: Prior
    measured: Floats

    def regret(self, places: Sequence[int]) -> float:
        """Regret of the layout that is believed to be the best after trials of those at `places`."""
        known = self.prior
        mean_cost = (
            after(known, places, np.log(self.measured[list(places)])) if places else known.mean
        )
        return float(self.measured[int(np.argmin(mean_cost))] / self.measured.min() - 1)


def sweeps(path: Path) -> Iterator[Sweep]:
    """Raises Unreadable."""
    runs = [
        run
        for run in accuracy.score(path).runs
        if accuracy.measured(run.row) and run.range is None and not run.setup.one_layer
    ]
    for layouts in scores.sweeps(runs):
        predicted, took = scores.seconds_of(layouts)
        first = [same[0] for same in layouts]
        decided = {name: np.array([run.prediction.layout[name] for run in first]) for name in ORDER}
        errors = SPREADS[:, None] * np.array([shares_of(run) for run in first]).T
        covariance = errors.T @ errors + kinship(decided, decided)
        by_prediction = np.argsort(predicted, kind="stable")
        known = Prior(
            np.log(predicted[by_prediction]), covariance[np.ix_(by_prediction, by_prediction)]
        )
        yield Sweep(first[0].row.source, known, took[by_prediction])


def judged(sweep: Sweep, count: int) -> Regrets:
    """Regrets after `count` trials, by WAYS."""
    size = len(sweep.measured)
    random = np.random.RandomState(1)
    drawn = [random.choice(size, count, replace=False).tolist() for _ in range(RANDOM)]
    found = chosen(sweep.prior, np.zeros(size, dtype=bool), count)
    every = combinations(range(size), count) if comb(size, count) <= ALL else None
    return {
        "chosen": sweep.regret(found.places),
        "random": mean(map(sweep.regret, drawn)),
        "best": None if every is None else min(map(sweep.regret, every)),
    }


def report(path: Path, counts: Sequence[int]) -> dict[str, Any]:
    large = [sweep for sweep in sweeps(path) if len(sweep.measured) > max(counts)]
    by_source = {
        source: _of([sweep for sweep in large if sweep.source == source], counts)
        for source in sorted({sweep.source for sweep in large})
    }
    if not by_source:
        return {"by_source": {}}
    reports = list(by_source.values())
    after_all = {
        str(count): {
            way: _mean([each["after"][str(count)][way] for each in reports]) for way in WAYS
        }
        for count in counts
    }
    before = mean(each["before"] for each in reports)
    return {"by_source": by_source, "mean": {"before": before, "after": after_all}}


def _of(found: Sequence[Sweep], counts: Sequence[int]) -> dict[str, Any]:
    results = {str(count): [judged(sweep, count) for sweep in found] for count in counts}
    return {
        "sweeps": len(found),
        "before": mean(sweep.regret([]) for sweep in found),
        "after": {
            count: {way: _mean([each[way] for each in regrets]) for way in WAYS}
            for count, regrets in results.items()
        },
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def text(document: Mapping[str, Any]) -> str:
    return "\n".join(table(*rows(document)))


def rows(document: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and lines: a source each, then the mean over sources."""
    counts = list(document["mean"]["after"])
    head = ("source", "sweeps", "before", *(f"{n} trials: {way}" for n in counts for way in WAYS))
    named = [*document["by_source"].items(), ("mean of sources", document["mean"])]
    lines = [
        (
            name,
            str(each.get("sweeps", "")),
            percent(each["before"]),
            *(_percent(each["after"][count][way]) for count in counts for way in WAYS),
        )
        for name, each in named
    ]
    return head, lines


def _percent(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _counts(text: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in text.split(","))
    if not found or min(found) < 1:
        raise ValueError
    return found


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    parser.add_argument("--runs", type=_counts, default=RUNS, help="numbers of trials: 2,3,5")
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument("--docs", action="store_true", help="renew the table of docs/site.md")
    asked = parser.parse_args(given)
    try:
        document = report(asked.data, asked.runs)
    except Unreadable as error:
        print(f"trials: {error}", file=sys.stderr)
        return 2
    if not document["by_source"]:
        print("trials: no sweep has more layouts than trials", file=sys.stderr)
        return 1
    if asked.json:
        asked.json.write_text(json.dumps(document, indent=2) + "\n")
    if asked.docs:
        document_tables.write_trials(*rows(document))
    print(text(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
