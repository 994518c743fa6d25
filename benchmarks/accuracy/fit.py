"""Fits the few efficiencies of the cost model to measured runs.

    python benchmarks/accuracy/fit.py [--data FILE.csv]

Starts from what others measured of kernels (`prior`), not from the values in use, and lowers a robust loss of
log(predicted / measured), every source weighing the same, by coordinate descent over whole steps of each
parameter. The values marked [fit] in dsl/std are where it ends; the gaps in backends/host.py, which every GPU
has, are fitted apart. Efficiencies are fitted to runs without experts: what prices of experts lack would be
taken up by the GPU on which they ran.
Then it leaves each source out in turn, fits to the others, and prints the error of the fit beside that of
the source left out. It changes no file. Fields that a source leaves open are filled once, with the values in
use. The same file gives the same numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy
from benchmarks.accuracy.fit_by_descent import (
    Fit,
    Parameter,
    Point,
    Sample,
    Sources,
    median_error,
    sample_of,
)
from benchmarks.accuracy.rows.csv_rows import Row, Unreadable, Unusable, rows
from benchmarks.accuracy.rows.measured_seconds import measured_seconds
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import Setup, setup_of
from benchmarks.accuracy.setups.stacks import STACKS, Stack
from parc.backends import BACKENDS

#: Rows of a source that are fitted to, evenly spaced: more of them weigh no more.
MOST_ROWS = 96

#: Steps between a value in use and the fit within which they are the same: a hundredth for efficiencies,
#: 10 us for the gaps.
TOLERANCE = 1.01

#: Chips that share efficiencies.
VOLTA = ("v100_16", "v100_32")
AMPERE = ("a100_80", "a100_40", "a800")
HOPPER = ("h100_sxm", "h200", "h800")
BLACKWELL = ("b200",)
#: A B200 whose peak is stated higher than it is faster.
GRACE = ("gb200",)
ULTRA = ("b300", "gb300")
SM100 = BLACKWELL + GRACE + ULTRA


def efficiency(
    label: str, field: str, owners: tuple[str, ...], low: int, high: int, prior: int
) -> Parameter:
    return Parameter(f"{label} {field}", field, owners, 0.01, low, high, prior)


#: Priors of products are those of shapes of models, of memory what elementwise kernels reach by SimuMax's
#: table of B200, all by the sources in dsl/std/gpus.par; Volta's products have that of the best shape,
#: Blackwell's fp8 and fp4 and Ultra those of Blackwell, gaps those of 15 kernels. Efficiencies may go down
#: to four fifths of a prior and up to the best figure of the chip. The host's time is not among them: no
#: measured run tells of it alone.
PARAMETERS = (
    efficiency("Volta", "matmul_efficiency", VOLTA, 59, 80, 74),
    efficiency("Volta", "memory_efficiency", VOLTA, 54, 85, 67),
    efficiency("Ampere", "matmul_efficiency", AMPERE, 58, 87, 72),
    efficiency("Ampere", "memory_efficiency", AMPERE, 54, 85, 67),
    efficiency("Hopper", "matmul_efficiency", HOPPER, 58, 80, 73),
    efficiency("Hopper", "fp8_efficiency", HOPPER, 52, 80, 65),
    efficiency("Hopper", "memory_efficiency", HOPPER, 54, 85, 67),
    efficiency("Blackwell", "matmul_efficiency", BLACKWELL, 39, 78, 49),
    efficiency("Blackwell", "fp8_efficiency", BLACKWELL, 39, 90, 49),
    efficiency("GB200", "matmul_efficiency", GRACE, 39, 78, 49),
    efficiency("GB200", "fp8_efficiency", GRACE, 39, 90, 49),
    efficiency("Blackwell", "memory_efficiency", SM100, 54, 85, 67),
    efficiency("Blackwell Ultra", "matmul_efficiency", ULTRA, 39, 78, 49),
    efficiency("Blackwell Ultra", "fp8_efficiency", ULTRA, 39, 90, 49),
    efficiency("Blackwell", "fp4_efficiency", SM100, 39, 90, 49),
)
#: One number for all, fitted to all runs with the efficiencies in use.
GAPS = (
    Parameter("every framework gap_seconds", "gap_seconds", tuple(BACKENDS), 0.01e-3, 0, 40, 6),
)


def samples(
    path: Path, most: int = MOST_ROWS, parameters: Sequence[Parameter] = PARAMETERS
) -> dict[str, list[Sample]]:
    """Evenly spaced rows of every source that has times, their layouts complete. Raises Unreadable.

    Not those with fine recomputation: its price is the operations that it repeats, no measured pair tells
    whether they are all, and an efficiency of products should not take up what is missing.
    """
    chosen = {
        name: [sample(found[index], parameters) for index in _spaced(len(found), most)]
        for name, of_it in timed_rows(path).items()
        if (found := setups([row for row in of_it if row.recompute != "fine"]))
    }
    kept = {name: [each for each in found if each is not None] for name, found in chosen.items()}
    return {name: found for name, found in kept.items() if found}


def dense(sources: Sources) -> dict[str, list[Sample]]:
    """The rows without experts, and the sources that have any."""
    found = {
        name: [each for each in of_it if not each.setup.case.model.moe]
        for name, of_it in sources.items()
    }
    return {name: of_it for name, of_it in found.items() if of_it}


def timed_rows(path: Path) -> dict[str, list[Row]]:
    """The rows of every source that a machine ran and that have a time. Raises Unreadable."""
    found: dict[str, list[Row]] = {}
    for _, row in rows(path):
        if isinstance(row, Unusable) or row.oom or not row.timed or accuracy.outside(row):
            continue
        if accuracy.measured(row):
            found.setdefault(row.source, []).append(row)
    return dict(sorted(found.items()))


def setups(found: Sequence[Row], stacks: Sequence[Stack] = STACKS) -> list[Setup]:
    """Setups of rows that accuracy.py prices and that leave no field open."""
    usable = []
    for row in found:
        try:
            setup = setup_of(row, stacks)
        except Unusable:
            continue
        if not setup.ranged:
            usable.append(setup)
    return usable


def _spaced(count: int, most: int) -> Sequence[int]:
    places = np.linspace(0, count - 1, min(count, most)).round().astype(int)
    return [int(place) for place in np.unique(places)]


def sample(setup: Setup, parameters: Sequence[Parameter] = PARAMETERS) -> Sample | None:
    """A row with its layout complete; None where it has no price or no time."""
    try:
        complete = replace(setup, layout=predict(setup).layout, open=())
        measured = measured_seconds(setup.case, setup.row)
    except Unusable:
        return None
    return None if measured is None else sample_of(complete, measured, parameters)


def left_out(fit: Fit, sources: Sources, fitted: Point) -> dict[str, Point]:
    """For every source the fit to all others, on the times priced around the fit to all."""
    taken = dense(sources)
    tables = fit.priced(taken, fitted)
    found = {}
    for name in sources:
        told = {number for it in taken.get(name, ()) for number in it.concerned}
        start = tuple(
            it.prior if number in told else fitted[number] for number, it in enumerate(PARAMETERS)
        )
        others = {other: table for other, table in tables.items() if other != name}
        found[name] = fit.settle(others, start)
    return found


def report(fit: Fit, sources: Sources, fitted: Point) -> str:
    others = left_out(fit, sources, fitted)
    lines = [*_of_parameters(fitted, others), "", *_of_sources(fit, sources, fitted, others)]
    return "\n".join(lines)


def _of_parameters(fitted: Point, others: Mapping[str, Point]) -> list[str]:
    lines = [f"{'parameter':40}{'prior':>10}{'in use':>10}{'fitted':>10}{'left out':>20}"]
    for number, it in enumerate(PARAMETERS):
        found = [point[number] * it.step for point in others.values()]
        span = f"{min(found):.4g} to {max(found):.4g}"
        values = (it.prior * it.step, it.used, fitted[number] * it.step)
        lines.append(f"{it.label:40}" + "".join(f"{each:10.4g}" for each in values) + f"{span:>20}")
    return lines


def _of_sources(
    fit: Fit, sources: Sources, fitted: Point, others: Mapping[str, Point]
) -> list[str]:
    used = tuple(parameter.current() for parameter in PARAMETERS)
    columns: dict[str, Callable[[str], Point]] = {
        "prior": lambda name: fit.priors,
        "in use": lambda name: used,
        "fitted": lambda name: fitted,
        "left out": lambda name: others[name],
    }
    lines = [
        f"{'median |error| of source':52}{'rows':>5}" + "".join(f"{each:>10}" for each in columns)
    ]
    table = []
    for name, found in sources.items():
        table.append([median_error(fit.errors(found, at(name))) for at in columns.values()])
        lines.append(f"{name:52}{len(found):5}" + _percent(table[-1]))
    middle = [float(np.median(column)) for column in zip(*table, strict=True)]
    return [*lines, f"{'median of sources':57}" + _percent(middle)]


def _percent(values: Sequence[float]) -> str:
    return "".join(f"{100 * each:8.1f} %" for each in values)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    asked = parser.parse_args(given)
    try:
        sources = samples(asked.data)
    except Unreadable as error:
        print(f"fit: {error}", file=sys.stderr)
        return 2
    if len(sources) < 2:
        print("fit: fewer than two sources with times; nothing could be left out", file=sys.stderr)
        return 1
    fit, gaps = Fit(PARAMETERS), Fit(GAPS)
    print(report(fit, sources, fit.descend(dense(sources), fit.priors)))
    (found,) = gaps.descend(samples(asked.data, parameters=GAPS), gaps.priors)
    (it,) = GAPS
    print(f"\n{it.label}: in use {it.used:.4g}, fitted {found * it.step:.4g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
