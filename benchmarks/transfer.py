"""How well a site is predicted after a few logs of its own: calibrate on k random runs, predict the others.

    python benchmarks/transfer.py [--data FILE.csv] [--runs 3,6,12] [--seeds 5] [--json FILE]
        [--unseen]

For each source and GPU with at least 15 timed runs that accuracy.py prices, and for each seed, k random runs
are a site's logs; `parc calibrate`'s fit moves the figures of GPU and cluster, and the other runs are
predicted with them and with what the logs were off beside these, as a plan tells (`measured.expected`);
`before` is of the same runs without. With `--unseen` parc is to know nothing of a source
but what others tell, as in left_out.py. The same file and arguments give the same numbers. Exit codes: 0
something was scored, 1 nothing was, 2 the file or the arguments are unusable.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks.accuracy import accuracy, fit, left_out
from benchmarks.accuracy.fit_by_descent import Fit, Point, Sample, seconds_of, with_values
from benchmarks.accuracy.report import scores
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.accuracy.rows.csv_rows import Unreadable
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import Setup
from parc.calibrate.parameters import Floats, at, bounds
from parc.calibrate.posterior import Observation, Posterior, posterior
from parc.compiler.risk import FOUR_OF_FIVE
from parc.compiler.search.expected_step import DOUBLINGS, excess

Report = dict[str, Any]
#: Timed runs of one source on one GPU that make a site worth scoring.
SITE = 15
FIGURES = ("median_ape", "p90_ape", "spearman", "regret", "in_band")


@dataclass(frozen=True, eq=False)
class Run:
    """A measured run of a site."""

    setup: Setup
    measured: float

    def log_seconds(self, errors: Floats) -> Floats:
        return np.log(seconds_of(self.setup, at(self.setup.case, errors), len(errors)))

    @cached_property
    def observation(self) -> Observation:
        return Observation(self.log_seconds, self.measured)

    @cached_property
    def before(self) -> float:
        return float(self.log_seconds(np.zeros((1, len(self.bounds[0]))))[0])

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        return bounds(self.setup.case.cluster)

    @property
    def spread(self) -> float:
        return self.setup.case.familiarity.step_spread

    @cached_property
    def scored(self) -> scores.Scored:
        return scores.Scored(self.setup, predict(self.setup), self.measured)


Site = Sequence[Run]


def sites(found: Mapping[str, Sequence[Sample]]) -> Mapping[str, Site]:
    """By source, and GPU where a source has several, the runs of those that are enough to score."""
    result: dict[str, Site] = {}
    for name, samples in found.items():
        by_gpu: dict[str, list[Run]] = {}
        for each in samples:
            row = each.setup.row
            by_gpu.setdefault(row.gpu_part or row.gpu, []).append(Run(each.setup, each.measured))
        enough = {gpu: of_it for gpu, of_it in by_gpu.items() if len(of_it) >= SITE}
        for gpu, of_it in enough.items():
            result[name if len(by_gpu) == 1 else f"{name}, {gpu}"] = of_it
    return result


def as_shipped(path: Path) -> dict[str, list[Sample]]:
    """The runs of every source as parc prices them. Raises Unreadable."""
    return {name: left_out.samples(fit.setups(rows)) for name, rows in fit.timed_rows(path).items()}


def as_unseen(path: Path) -> dict[str, list[Sample]]:
    """Samples without knowledge of their own source: its entries of the table of stacks, its facts of
    kernels, and its part in the efficiencies. Raises Unreadable."""
    descent, rows, known = Fit(fit.PARAMETERS), fit.timed_rows(path), fit.samples(path)
    if len(known) < 2:
        return {}
    points = fit.left_out(descent, known, descent.descend(fit.dense(known), descent.priors))
    found = {}
    for name, point in points.items():
        without = left_out.WITHOUT.get(name, left_out.Without())
        unknown = fit.setups(rows[name], left_out.shared_stacks(rows, name))
        apart = left_out.samples([left_out.as_left_out(each, without) for each in unknown])
        found[name] = [_at_point(each, point) for each in apart]
    return found


def _at_point(sample: Sample, point: Point) -> Sample:
    fitted = {
        fit.PARAMETERS[number]: fit.PARAMETERS[number].step * point[number]
        for number in sample.concerned
    }
    case = with_values(sample.setup.case, fitted)
    return replace(sample, setup=replace(sample.setup, case=case))


def split(site: Site, count: int, seed: int) -> tuple[Site, Site]:
    """`count` random runs of a site, and the others."""
    order = np.random.RandomState(seed).permutation(len(site))
    logs, others = np.sort(order[:count]), np.sort(order[count:])
    return [site[place] for place in logs], [site[place] for place in others]


def calibrated(logs: Site, site: Site) -> Posterior:
    """The posterior of `parc calibrate` from the logs, within bounds that hold on all of the site."""
    low = np.stack([run.bounds[0] for run in site]).max(axis=0)
    high = np.stack([run.bounds[1] for run in site]).min(axis=0)
    return posterior([run.observation for run in logs], (low, high))


def of_site(site: Site, count: int, seeds: int) -> tuple[Report, Report]:
    """Scores of the runs that are no logs, before and after: means over seeds."""
    before, after = [], []
    for seed in range(seeds):
        logs, others = split(site, count, seed)
        found = calibrated(logs, site)
        fitted, predicted = (priced(runs, found.errors) for runs in (logs, others))
        off = np.log([run.measured for run in logs]) - fitted
        predicted = predicted + excess(columns(logs), off, columns(others))
        own = np.array([run.spread for run in others])
        before.append(figures(others, np.array([run.before for run in others]), own))
        after.append(figures(others, predicted, np.full(len(others), found.spread)))
    return _means(before), _means(after)


def priced(runs: Site, errors: Floats) -> Floats:
    """ln(seconds) of each run with figures that are off by `errors`."""
    return np.array([run.log_seconds(errors[None])[0] for run in runs])


def columns(runs: Site) -> dict[str, Any]:
    """Variables of runs that `excess` compares; one that the source leaves open is 1."""
    layouts = [
        {"gpus": run.setup.row.gpus or 1, "recompute": 0, **run.setup.layout} for run in runs
    ]
    names = (*DOUBLINGS, "recompute")
    return {name: np.array([layout.get(name, 1) for layout in layouts]) for name in names}


def figures(runs: Site, log_seconds: Floats, spreads: Floats) -> Report:
    """Figures of runs predicted to take exp(`log_seconds`): errors, means over jobs of rank correlation and
    of the regret of the layout that is predicted fastest, and the share of runs in their 80 % band.
    """
    errors = log_seconds - np.log([run.measured for run in runs])
    size = np.abs(np.expm1(errors))
    ranked = [_ranked(layouts) for layouts in scores.sweeps(_scored(runs, log_seconds))]
    return {
        "median_ape": float(np.median(size)),
        "p90_ape": float(np.percentile(size, 90)),
        "spearman": _mean([each[0] for each in ranked]),
        "regret": _mean([each[1] for each in ranked]),
        "in_band": float(np.mean(np.abs(errors) <= FOUR_OF_FIVE * spreads)),
    }


def _scored(runs: Site, log_seconds: Floats) -> list[scores.Scored]:
    return [
        replace(run.scored, prediction=replace(run.scored.prediction, seconds=float(seconds)))
        for run, seconds in zip(runs, np.exp(log_seconds), strict=True)
    ]


def _ranked(layouts: Sequence[Sequence[scores.Scored]]) -> tuple[float, float]:
    predicted, measured = scores.seconds_of(layouts)
    return scores.spearman(predicted, measured), scores.regret(predicted, measured)


def _mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are not None."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _means(reports: Sequence[Report]) -> Report:
    return {name: _mean([each[name] for each in reports]) for name in FIGURES}


def report(found: Mapping[str, Site], counts: Sequence[int], seeds: int) -> Report:
    """Scores of every site, and their medians. `before` is of the same runs as `after`: the mean over
    the numbers of logs."""
    by_source = {name: _of_counts(site, counts, seeds) for name, site in found.items()}
    ends: dict[str, list[Report]] = {str(count): [] for count in counts}
    for each in by_source.values():
        for count in each["after"]:
            ends[count].append(each["after"][count])
    after = {count: _medians(each) for count, each in ends.items() if each}
    before = _medians([each["before"] for each in by_source.values()])
    return {"by_source": by_source, "median_of_sources": {"before": before, "after": after}}


def _of_counts(site: Site, counts: Sequence[int], seeds: int) -> Report:
    able = [count for count in counts if count < len(site)]
    found = {str(count): of_site(site, count, seeds) for count in able}
    return {
        "runs": len(site),
        "before": _means([before for before, _ in found.values()]),
        "after": {count: after for count, (_, after) in found.items()},
    }


def _medians(reports: Sequence[Report]) -> Report:
    """Over sites that have each figure."""
    known = {name: [each[name] for each in reports if each[name] is not None] for name in FIGURES}
    return {name: float(np.median(values)) if values else None for name, values in known.items()}


def text(document: Report) -> str:
    counts = list(document["median_of_sources"]["after"])
    head = ("median |e|, p90, rank, in band", "runs", "before")
    lines = [
        (name, str(each["runs"]), *_cells(each, counts))
        for name, each in document["by_source"].items()
    ]
    last = ("median of sources", "", *_cells(document["median_of_sources"], counts))
    return "\n".join(table((*head, *(f"{count} logs" for count in counts)), [*lines, last]))


def _cells(each: Report, counts: Sequence[str]) -> list[str]:
    return [_cell(each["before"]), *(_cell(each["after"].get(count)) for count in counts)]


def _cell(each: Report | None) -> str:
    if each is None:
        return ""
    rank = "" if each["spearman"] is None else f"{each['spearman']:.2f}"
    parts = (percent(each["median_ape"]), percent(each["p90_ape"]), rank, percent(each["in_band"]))
    return "  ".join(f"{part:>7}" for part in parts)


def numbers(given: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in given.split(","))
    if min(found) < 1:
        raise ValueError
    return found


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    parser.add_argument("--runs", type=numbers, default=(3, 6, 12), help="numbers of logs")
    parser.add_argument(
        "--seeds", type=int, default=5, help="random choices of logs of each number"
    )
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument(
        "--unseen", action="store_true", help="without what parc knows of each source alone"
    )
    asked = parser.parse_args(given)
    if asked.seeds < 1:
        parser.error("--seeds is 1 at least")
    try:
        found = sites((as_unseen if asked.unseen else as_shipped)(asked.data))
        if not found:
            print(f"transfer: no source has {SITE} timed runs on one GPU", file=sys.stderr)
            return 1
        document = report(found, asked.runs, asked.seeds)
        if asked.json:
            asked.json.write_text(json.dumps(document, indent=2) + "\n")
    except (Unreadable, OSError) as error:
        print(f"transfer: {error}", file=sys.stderr)
        return 2
    print(text(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
