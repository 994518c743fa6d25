"""Fits the few efficiencies of the cost model to measured runs: python benchmarks/fit.py [--data FILE.csv]

Minimises Huber's loss of log(predicted / measured), every source weighing the same, by coordinate descent
over whole steps of each parameter, from the values in use. It changes no file. Then it leaves each source
out in turn, fits to the others, and prints the error of the fit beside that of the source left out.
Fields that a source leaves open keep what parc chooses at the start. The same file gives the same numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, median

import accuracy
import numpy as np
import setups
from measured import Unreadable, Unusable
from predict import predict
from scores import Scored, gather
from setups import Asked, Setup

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.dsl import std_gpu

#: Rows of a source that are fitted to, evenly spaced: more of them weigh no more.
MOST_ROWS = 12
#: Error from which on the loss grows with it and not with its square.
HUBER = 0.1
#: Steps of the descent, in units of a parameter's own.
STRIDES = (1,)
PASSES = 4

#: Chips that share efficiencies.
VOLTA = ("v100_16", "v100_32")
AMPERE = ("a100_80", "a100_40", "a800")
HOPPER = ("h100_sxm", "h200", "h800")
BLACKWELL = ("b200", "gb200")
ULTRA = ("b300", "gb300")
GENERATIONS = {"Volta": VOLTA, "Ampere": AMPERE, "Hopper": HOPPER, "Blackwell": BLACKWELL + ULTRA}


@dataclass(frozen=True)
class Parameter:
    """One number, the same for every member of `owners` (GPUs or targets); fitted in whole steps of
    `step` between `low` and `high`."""

    label: str
    field: str
    owners: tuple[str, ...]
    step: float
    low: int
    high: int

    @property
    def of_gpu(self) -> bool:
        return self.owners[0] not in BACKENDS

    def current(self) -> int:
        """The value in use, in steps."""
        first = self.owners[0]
        owner = std_gpu(first) if self.of_gpu else BACKENDS[first].target.traits
        return round(getattr(owner, self.field) / self.step)

    def concerns(self, asked: Asked) -> bool:
        return (asked.cluster.gpu.name if self.of_gpu else asked.target) in self.owners


def efficiency(label: str, field: str, owners: tuple[str, ...], low: int, high: int) -> Parameter:
    return Parameter(f"{label} {field}", field, owners, 0.01, low, high)


#: Upper bounds are the best figures published for the chip, lower ones half of the peak, and the slowest
#: attention kernels of its time (sources in dsl/std/gpus.par). The overheads per micro-batch and step stay as
#: assumed: the rows tell next to nothing of them.
PARAMETERS = (
    efficiency("Volta", "matmul_efficiency", VOLTA, 50, 74),
    efficiency("Volta", "memory_efficiency", VOLTA, 50, 92),
    efficiency("Ampere", "matmul_efficiency", AMPERE, 50, 87),
    efficiency("Ampere", "attention_efficiency", AMPERE, 25, 73),
    efficiency("Ampere", "memory_efficiency", AMPERE, 50, 92),
    efficiency("Hopper", "matmul_efficiency", HOPPER, 50, 80),
    efficiency("Hopper", "fp8_efficiency", HOPPER, 50, 80),
    efficiency("Hopper", "attention_efficiency", HOPPER, 35, 75),
    efficiency("Hopper", "memory_efficiency", HOPPER, 50, 92),
    efficiency("Blackwell", "matmul_efficiency", BLACKWELL, 40, 77),
    efficiency("Blackwell", "fp8_efficiency", BLACKWELL, 40, 77),
    efficiency("Blackwell", "attention_efficiency", BLACKWELL + ULTRA, 35, 71),
    efficiency("Blackwell", "memory_efficiency", BLACKWELL + ULTRA, 50, 92),
    efficiency("Blackwell Ultra", "matmul_efficiency", ULTRA, 40, 77),
    efficiency("Blackwell Ultra", "fp8_efficiency", ULTRA, 40, 90),
    Parameter("every framework host_seconds", "host_seconds", tuple(BACKENDS), 0.02e-3, 1, 60),
    Parameter("every framework gap_seconds", "gap_seconds", tuple(BACKENDS), 0.01e-3, 0, 20),
)
#: Steps of each of PARAMETERS.
Point = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """A measured row with its layout complete, and which parameters it can tell of."""

    setup: Setup
    measured: float
    concerned: tuple[int, ...]


def samples(runs: Sequence[Scored]) -> dict[str, list[Sample]]:
    """Evenly spaced rows of every source that has times."""
    timed = [run for run in runs if run.measured is not None]
    return {
        name: [_sample(found[index]) for index in _spaced(len(found))]
        for name, found in sorted(gather(timed, lambda run: run.row.source).items())
    }


def _spaced(count: int) -> Sequence[int]:
    return np.unique(np.linspace(0, count - 1, min(count, MOST_ROWS)).round().astype(int)).tolist()


def _sample(run: Scored) -> Sample:
    complete = replace(run.setup, layout=run.prediction.layout, open=())
    concerned = tuple(k for k, it in enumerate(PARAMETERS) if it.concerns(run.setup.asked))
    assert run.measured is not None
    return Sample(complete, run.measured, concerned)


@cache
def case_at(asked: Asked, values: tuple[tuple[int, int], ...]) -> Case:
    """The case of `asked` with some parameters, by their numbers, at so many steps."""
    case = setups.case_of(asked)
    of_gpu = {
        PARAMETERS[k].field: v * PARAMETERS[k].step for k, v in values if PARAMETERS[k].of_gpu
    }
    traits = {
        PARAMETERS[k].field: v * PARAMETERS[k].step for k, v in values if not PARAMETERS[k].of_gpu
    }
    gpu = case.gpu.model_copy(update=of_gpu)
    job = case.job.model_copy(update={"cluster": case.cluster.model_copy(update={"gpu": gpu})})
    return Case(job, replace(case.target, traits=replace(case.traits, **traits)))


@cache
def log_error(sample: Sample, values: tuple[int, ...]) -> float:
    """log(predicted / measured) with the concerned parameters at `values`."""
    chosen = tuple(zip(sample.concerned, values, strict=True))
    setup = replace(sample.setup, case=case_at(sample.setup.asked, chosen))
    return float(np.log(predict(setup).seconds / sample.measured))


def errors_at(members: Sequence[Sample], point: Point) -> list[float]:
    return [log_error(it, tuple(point[k] for k in it.concerned)) for it in members]


def huber(error: float) -> float:
    size = abs(error)
    return size**2 / 2 if size <= HUBER else HUBER * (size - HUBER / 2)


def loss(sources: Mapping[str, Sequence[Sample]], point: Point) -> float:
    return mean(mean(map(huber, errors_at(found, point))) for found in sources.values())


def fit(
    sources: Mapping[str, Sequence[Sample]],
    start: Point,
    strides: Sequence[int],
    numbers: Sequence[int] = range(len(PARAMETERS)),
) -> Point:
    """The best point that single steps of the parameters with these numbers lead to; a parameter that no
    source tells of keeps its start."""
    point, best = start, loss(sources, start)
    for stride in strides:
        for _ in range(PASSES):
            before = point
            for number in numbers:
                point, best = _line(sources, point, best, number, stride)
            if point == before:
                break
    return point


def _line(
    sources: Mapping[str, Sequence[Sample]], point: Point, best: float, number: int, stride: int
) -> tuple[Point, float]:
    """The best point along one parameter, walking downhill."""
    concerned = {
        name: found
        for name, found in sources.items()
        if any(number in it.concerned for it in found)
    }
    if not concerned:
        return point, best
    parameter, near = PARAMETERS[number], loss(concerned, point)
    for step in (stride, -stride):
        while parameter.low <= point[number] + step <= parameter.high:
            moved = (*point[:number], point[number] + step, *point[number + 1 :])
            found = loss(concerned, moved)
            if found >= near - 1e-12:
                break
            point, near = moved, found
    return point, loss(sources, point)


def median_error(members: Sequence[Sample], point: Point) -> float:
    """Median of |predicted / measured - 1|."""
    return median(abs(float(np.expm1(error))) for error in errors_at(members, point))


def left_out(sources: Mapping[str, Sequence[Sample]], fitted: Point) -> dict[str, Point]:
    """For every source the fit of the parameters that it tells of to all others."""
    return {
        name: fit(
            {other: found for other, found in sources.items() if other != name},
            fitted,
            STRIDES,
            sorted({number for it in members for number in it.concerned}),
        )
        for name, members in sources.items()
    }


def report(sources: Mapping[str, Sequence[Sample]], start: Point, fitted: Point) -> str:
    others = left_out(sources, fitted)
    lines = [f"{'parameter':40}{'in use':>10}{'fitted':>10}{'left out':>18}"]
    for number, it in enumerate(PARAMETERS):
        found = [point[number] * it.step for point in others.values()]
        span = f"{min(found):.4g} to {max(found):.4g}"
        used, best = start[number] * it.step, fitted[number] * it.step
        lines.append(f"{it.label:40}{used:10.4g}{best:10.4g}{span:>18}")
    lines.append(
        f"\n{'median |error| of source':52}{'rows':>5}{'in use':>9}{'fitted':>9}{'left out':>10}"
    )
    table = []
    for name, found in sources.items():
        row = [median_error(found, point) for point in (start, fitted, others[name])]
        table.append(row)
        lines.append(f"{name:52}{len(found):5}" + "".join(f"{100 * each:7.1f} %" for each in row))
    middle = [100 * float(np.median(column)) for column in zip(*table, strict=True)]
    lines.append(f"{'median of sources':57}" + "".join(f"{each:7.1f} %" for each in middle))
    lines.append(f"\n{'step_spread of left-out sources':52}{'sources':>8}")
    for label, found in sorted(spreads(sources, others).items()):
        lines.append(f"{label:52}{len(found):8}{float(np.median(found)):9.2f}")
    return "\n".join(lines)


def spreads(
    sources: Mapping[str, Sequence[Sample]], others: Mapping[str, Point]
) -> dict[str, list[float]]:
    """By generation of GPUs, for every source left out the root mean square of log(predicted / measured)."""
    found: dict[str, list[float]] = {}
    for name, members in sources.items():
        for label, gpus in GENERATIONS.items():
            of_them = [it for it in members if it.setup.asked.cluster.gpu.name in gpus]
            errors = errors_at(of_them, others[name])
            if errors:
                found.setdefault(label, []).append(float(np.sqrt(np.mean(np.square(errors)))))
    return found


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    asked = parser.parse_args(given)
    try:
        sources = samples(accuracy.score(asked.data).runs)
    except (Unreadable, Unusable) as error:
        print(f"fit: {error}", file=sys.stderr)
        return 2
    if len(sources) < 2:
        print("fit: fewer than two sources with times; nothing could be left out", file=sys.stderr)
        return 1
    start = tuple(parameter.current() for parameter in PARAMETERS)
    print(report(sources, start, fit(sources, start, STRIDES)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
