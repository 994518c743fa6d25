"""Fits the constants of single kernels to measured ones, and says what they are worth on those left out.

    python benchmarks/fit_kernels.py [--data FILE.csv]

Lowers the size of log(predicted / measured), with the median of each kind, GPU and dtype divided out, by
coordinate descent from the values in use; levels belong to training runs (benchmarks/accuracy/fit.py). Then
it leaves a fifth of the shapes out, five times, and each GPU in turn, fits to the rest, and prints the errors
of what was left out. It changes no file. The same file gives the same numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.accuracy.rows.csv_rows import Unreadable
from benchmarks.kernels import DATA, errors, priced
from benchmarks.measured_kernels import engines
from benchmarks.measured_kernels.price import seconds
from benchmarks.measured_kernels.rows import Kernel
from parc.compiler.time import collectives, layers

#: Parts of the shapes, of which one is left out at a time.
FOLDS = 5
#: Factors by which descent moves a constant, one after the other.
STEPS = (1.1, 1.03)
#: What is fitted for each kind, and where the compiler keeps it.
PARAMETERS: Mapping[str, tuple[tuple[ModuleType | engines.ExpertKernel, str], ...]] = {
    "gemm": (
        (engines, "SCALE_BYTES"),
        (engines, "SCALE_SECONDS"),
        (engines, "ROW_SCALE_BYTES"),
        (engines, "ROW_SCALE_SECONDS"),
        (engines, "ROW_SECONDS"),
    ),
    "attention": (
        (layers, "FORWARD_WAVES"),
        (layers, "QUERY_SECONDS"),
        (layers, "EXPONENTIAL_WIDTH"),
        (layers, "ATTENTION_START"),
    ),
    "collective": (
        (collectives, "START"),
        (collectives, "SMALL_SHARE"),
        (collectives, "HALFWAY_BYTES"),
        (collectives, "OWN_PART"),
        (collectives, "OWN_EXCHANGED_PART"),
    ),
    "experts": (
        (engines, "ROUTING_SECONDS"),
        (engines, "EVERY_TOKEN_BYTES"),
        (engines.USUAL_EXPERTS, "permuted_bytes"),
        (engines.LOW_LATENCY, "rate"),
        (engines.LOW_LATENCY, "routed_seconds"),
        (engines.TRITON, "rate"),
        (engines.TRITON, "routed_bytes"),
        (engines.HOPPER_FP8, "rate"),
        (engines.HOPPER_FP8, "bandwidth"),
    ),
}
#: A value of each of a kind's parameters.
Point = tuple[float, ...]
Rows = NDArray[np.intp]


@contextmanager
def in_use(kind: str, point: Point) -> Iterator[None]:
    """The compiler with these values of a kind's constants, which return to what they were."""
    before = current(kind)
    _put(kind, point)
    try:
        yield
    finally:
        _put(kind, before)


def current(kind: str) -> Point:
    return tuple(float(getattr(owner, name)) for owner, name in PARAMETERS[kind])


def _put(kind: str, point: Point) -> None:
    for (owner, name), value in zip(PARAMETERS[kind], point, strict=True):
        setattr(owner, name, value)


@dataclass
class Fit:
    """The rows of one kind and what they cost at the points seen."""

    kind: str
    rows: Sequence[Kernel]
    seen: dict[Point, NDArray[np.float64]] = field(default_factory=dict)

    def ratios(self, point: Point) -> NDArray[np.float64]:
        """Predicted over measured time of every row."""
        if point not in self.seen:
            with in_use(self.kind, point):
                found = [seconds(row) / (1e-6 * row.microseconds) for row in self.rows]
            self.seen[point] = np.array(found)
        return self.seen[point]

    def loss(self, point: Point, among: Rows) -> float:
        """Mean size of the logarithm of the ratios, each group's median divided out."""
        ratios = self.ratios(point)
        sizes = [
            np.abs(np.log(ratios[each] / np.median(ratios[each])))
            for each in self.groups(among).values()
        ]
        return float(np.mean(np.concatenate(sizes)))

    def groups(self, among: Rows) -> dict[tuple[str, str], list[int]]:
        """Row numbers by GPU and dtype."""
        found: dict[tuple[str, str], list[int]] = {}
        for number in among:
            row = self.rows[number]
            found.setdefault((row.gpu, row.dtype), []).append(int(number))
        return found

    def descend(self, start: Point, among: Rows) -> Point:
        """The point from which no step of one constant lowers the loss."""
        best, least = start, self.loss(start, among)
        for step in STEPS:
            moved = True
            while moved:
                moved = False
                for place in range(len(best)):
                    for factor in (step, 1 / step):
                        value = float(f"{best[place] * factor:.4g}")
                        point = (*best[:place], value, *best[place + 1 :])
                        if (loss := self.loss(point, among)) < least:
                            best, least, moved = point, loss, True
        return best

    def left_out(self, parts: Sequence[Rows]) -> list[dict[str, float]]:
        """Errors of each group of every part, at the fit to what the part leaves."""
        everything = np.arange(len(self.rows))
        found = []
        for part in parts:
            point = self.descend(current(self.kind), np.setdiff1d(everything, part))
            ratios = self.ratios(point)
            found += [errors(list(ratios[each])) for each in self.groups(part).values()]
        return found

    def folds(self) -> list[Rows]:
        """Every FOLDS-th shape in sorted order, on all GPUs at once."""
        shapes = sorted({row.shape for row in self.rows})
        place = {shape: number % FOLDS for number, shape in enumerate(shapes)}
        own = np.array([place[row.shape] for row in self.rows])
        return [part for fold in range(FOLDS) if len(part := np.flatnonzero(own == fold))]

    def gpus(self) -> list[Rows]:
        own = np.array([row.gpu for row in self.rows])
        return [np.flatnonzero(own == name) for name in sorted(set(own))]


def fits(path: Path) -> dict[str, Fit]:
    """Raises Unreadable."""
    found: dict[str, list[Kernel]] = {}
    for row, _ in priced(path).rows:
        found.setdefault(row.kind, []).append(row)
    return {kind: Fit(kind, rows) for kind, rows in sorted(found.items())}


def report(found: Mapping[str, Fit]) -> str:
    values, lines = [], []
    for kind, fit in found.items():
        everything = np.arange(len(fit.rows))
        best = fit.descend(current(kind), everything)
        named = zip(PARAMETERS[kind], current(kind), best, strict=True)
        values += [
            (f"{kind} {name}", f"{used:.4g}", f"{end:.4g}") for (_, name), used, end in named
        ]
        asked = {"shapes left out": fit.folds(), "GPUs left out": fit.gpus()}
        groups = fit.groups(everything).values()
        lines.append(
            _line(
                kind, "in use", [errors(list(fit.ratios(current(kind))[each])) for each in groups]
            )
        )
        lines += [
            _line(kind, name, fit.left_out(parts))
            for name, parts in asked.items()
            if len(parts) > 1
        ]
    head = ("by shape, median of groups", "groups", "median |e|", "p90 |e|")
    return "\n".join([*table(("constant", "in use", "fitted"), values), *table(head, lines)])


def _line(kind: str, name: str, found: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    middle = [
        float(np.median([each[key] for each in found]))
        for key in ("shape_median_ape", "shape_p90_ape")
    ]
    return (f"{kind}, {name}", str(len(found)), *(percent(each) for each in middle))


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="CSV of measured kernels")
    asked = parser.parse_args(given)
    try:
        found = fits(asked.data)
    except Unreadable as error:
        print(f"fit_kernels: {error}", file=sys.stderr)
        return 2
    if not found:
        print("fit_kernels: no row can be priced", file=sys.stderr)
        return 1
    print(report(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
