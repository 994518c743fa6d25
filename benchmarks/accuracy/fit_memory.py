"""Fits how far the memory of a run lies from its predicted one, by framework.

    python benchmarks/accuracy/fit_memory.py [--data FILE.csv]

Rows that state their memory tell ln(measured / predicted bytes); rows that ran tell that they needed less
than the GPU has, rows that ran out that they needed more. The scale of Student's t is the most likely one,
every row of a source weighing the same, and every source. A framework has the geometric mean of the scale of
its own sources, each counting as one, and of that of all others, which count as one together; and no less
than SPREAD (compiler/risk.py); one that the table of stacks lacks that of all, each priced without its
entries. Prints the scales beside those in use, then, for several degrees of freedom, the log-likelihood of
each source under the scale of the others; then that of frameworks whose gradients leave gaps in the
allocator, by the share of them (`MemoryTraits.gaps`). It changes no file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gamma, pi, sqrt
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy
from benchmarks.accuracy.fit_by_descent import Floats
from benchmarks.accuracy.report import scores
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.rows.csv_rows import Unreadable
from benchmarks.accuracy.setups.setup import Setup, case_of, setup_of
from benchmarks.accuracy.setups.stacks import PLAIN, STACKS
from parc.compiler.risk import SPREAD

#: Scales that are tried, 2 % apart.
SCALES = np.exp(np.arange(np.log(0.01), np.log(0.5), 0.02))
#: Degrees of freedom that are compared; those in use have an inverse in closed form (risk.py).
FREEDOMS = (1, 2, 4, 8)
USED = 2
#: Where the distribution is tabulated, in scales; the farthest row is 350 away at the smallest scale.
GRID = np.linspace(-400.0, 400.0, 800_001)
LEAST = 1e-9
#: Shares of what comes and goes that are tried as the allocator's gaps.
GAPS = tuple(each / 32 for each in (0, 4, 8, 10, 11, 12, 14, 16))


@dataclass(frozen=True)
class Told:
    """Evidence of one source's rows: ln(measured / predicted) of those that state bytes, ln(predicted /
    the GPU's memory) of those that ran and that ran out."""

    framework: str
    stated: Floats
    ran: Floats
    out: Floats


def told(runs: Sequence[Scored]) -> dict[str, Told]:
    """The sources with a row that states its memory or ran out of it."""
    measured = [run for run in runs if accuracy.measured(run.row)]
    grouped = scores.gather(measured, lambda run: run.row.source)
    found = {name: _told(of_it) for name, of_it in sorted(grouped.items())}
    return {name: each for name, each in found.items() if len(each.stated) + len(each.out)}


def _told(runs: Sequence[Scored]) -> Told:
    errors = [error for run in runs if (error := scores.memory_error(run)) is not None]
    silent = [run for run in runs if scores.memory_error(run) is None]

    def filled(out: bool) -> Floats:
        found = [run.prediction for run in silent if bool(run.row.oom) == out]
        return np.array([np.log(each.bytes / each.capacity) for each in found])

    framework = runs[0].setup.stack.framework
    return Told(framework, -np.log1p(np.array(errors)), filled(False), filled(True))


def likelihoods(found: Mapping[str, Told], freedom: int) -> dict[str, Floats]:
    """Mean log-likelihood of a row of each source, by scale."""
    constant = gamma((freedom + 1) / 2) / gamma(freedom / 2) / sqrt(freedom * pi)
    density = constant * (1 + GRID**2 / freedom) ** (-(freedom + 1) / 2)
    below = np.cumsum(density) / density.sum()

    def of(each: Told, scale: float) -> float:
        at_bytes = np.interp(each.stated / scale, GRID, density) / scale
        at_ran = 1 - np.interp(each.ran / scale, GRID, below)
        at_out = np.interp(each.out / scale, GRID, below)
        return float(np.mean(np.log(np.maximum(np.concatenate([at_bytes, at_ran, at_out]), LEAST))))

    return {name: np.array([of(each, scale) for scale in SCALES]) for name, each in found.items()}


def likeliest(tables: Iterable[Floats]) -> float:
    """The scale under which all sources together are most likely."""
    return float(SCALES[np.sum(list(tables), axis=0).argmax()])


def by_framework(found: Mapping[str, Told], tables: Mapping[str, Floats]) -> dict[str, float]:
    """The scale of each framework, between that of its own sources and that of the others."""
    result = {}
    for framework in sorted({each.framework for each in found.values()}):
        own = [tables[name] for name, each in found.items() if each.framework == framework]
        others = [tables[name] for name, each in found.items() if each.framework != framework]
        logs = len(own) * np.log(likeliest(own)) + np.log(likeliest(others or own))
        result[framework] = max(float(np.exp(logs / (len(own) + 1))), SPREAD)
    return result


def without_each(tables: Mapping[str, Floats]) -> dict[str, float]:
    """The scale of all other sources together, by source."""
    return {
        name: likeliest(each for other, each in tables.items() if other != name) for name in tables
    }


def as_unknown(runs: Sequence[Scored]) -> list[Scored]:
    """Runs priced as those of a framework that the table of stacks lacks."""

    def unknown(run: Scored) -> Setup:
        framework = run.setup.stack.framework
        return setup_of(run.row, [stack for stack in STACKS if stack.framework != framework])

    return [scores.repriced(run, unknown(run)) for run in runs]


def with_gaps(run: Scored, share: float) -> Scored:
    """A run priced with another share of gaps."""
    asked = run.setup.asked
    asked = replace(asked, traits=(*asked.traits, ("gaps", share)))
    return scores.repriced(run, replace(run.setup, asked=asked, case=case_of(asked)))


def gap_lines(runs: Sequence[Scored]) -> Iterable[str]:
    """How likely the runs of each framework that leaves gaps are, by the share of them."""
    leaves = [run for run in runs if run.setup.case.traits.memory.gaps]
    for framework in sorted({run.setup.stack.framework for run in leaves}):
        own = [run for run in leaves if run.setup.stack.framework == framework]
        for share in GAPS:
            tables = likelihoods(told([with_gaps(run, share) for run in own]), USED).values()
            best = likeliest(tables)
            reached = np.mean([table.max() for table in tables])
            yield (
                f"{framework} with {share:.3f} of what comes and goes in gaps: "
                f"log-likelihood {reached:.3f} at a scale of {best:.3f}"
            )


def report(runs: Sequence[Scored]) -> str:
    found = told(runs)
    used = {run.setup.stack.framework: run.setup.stack.memory_spread for run in runs}
    tables = likelihoods(found, USED)
    apart = without_each(tables)
    lines = [f"{'scale of ln(measured / predicted bytes)':42}{'in use':>8}{'fitted':>8}"]
    for framework, scale in by_framework(found, tables).items():
        lines.append(f"{framework:42}{used[framework]:8.3f}{scale:8.3f}")
    known = [run for run in runs if run.row.source in found]
    strange = likelihoods(told(as_unknown(known)), USED).values()
    lines.append(
        f"{'a framework that is not in the table':42}{PLAIN.memory_spread:8.3f}{likeliest(strange):8.3f}"
    )
    span = f"{min(apart.values()):.3f} to {max(apart.values()):.3f} without any one source"
    lines.append(f"{'all':42}{SPREAD:8.3f}{likeliest(tables.values()):8.3f}  {span}")
    for freedom in FREEDOMS:
        others = likelihoods(found, freedom)
        scales = without_each(others)
        unseen = [others[name][np.searchsorted(SCALES, scales[name])] for name in others]
        lines.append(
            f"{freedom} degrees of freedom: log-likelihood of unseen sources {np.mean(unseen):.3f}"
        )
    return "\n".join([*lines, *gap_lines(known)])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    asked = parser.parse_args(given)
    try:
        runs = accuracy.score(asked.data).runs
    except Unreadable as error:
        print(f"fit_memory: {error}", file=sys.stderr)
        return 2
    if len(told(runs)) < 2:
        print("fit_memory: fewer than two sources tell of memory", file=sys.stderr)
        return 1
    print(report(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
