"""Descent over a few whole-numbered parameters, and the measured rows that it fits to.

A row is priced at many values of a parameter at once: rates and launch times may be arrays, and the cost
terms are numpy. So each row has, along each parameter, its exact times over the parameter's whole range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.accuracy.setups.layer_placement import placement_of
from benchmarks.accuracy.setups.prediction import OUTSIDE_LAYERS, with_layers
from benchmarks.accuracy.setups.setup import Asked, Setup
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.pricing.varied import varied_parts
from parc.compiler.variables import ORDER
from parc.dsl import std_gpu

#: Error below which a row's loss is a square of it: smooth enough to descend, else its size.
SMOOTH = 0.03
#: What moving a parameter over its whole range costs: so little that it only decides where rows hardly do.
STRAIN = 0.002
#: Rounds of pricing anew; a round is several passes of descent on what was priced.
ROUNDS, PASSES = 12, 20

Floats = npt.NDArray[np.float64]
#: Steps of each parameter.
Point = tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """One number, the same for every member of `owners` (GPUs or targets); fitted in whole steps of
    `step` between `low` and `high`, from `prior`, which others measured or which is assumed."""

    label: str
    field: str
    owners: tuple[str, ...]
    step: float
    low: int
    high: int
    prior: int

    @property
    def of_gpu(self) -> bool:
        return self.owners[0] not in BACKENDS

    @property
    def used(self) -> float:
        """The value in use."""
        first = self.owners[0]
        if self.of_gpu:
            return float(getattr(std_gpu(first), self.field))
        return float(BACKENDS[first].target.traits.by_name()[self.field])

    def current(self) -> int:
        """The value in use, in steps."""
        return round(self.used / self.step)

    def concerns(self, asked: Asked) -> bool:
        """Whether a run goes by this value; a kernel or chip of its own does not."""
        if not self.of_gpu:
            return asked.target in self.owners and self.field not in dict(asked.traits)
        gpu = asked.cluster.gpu
        return gpu.name in self.owners and getattr(gpu, self.field) == self.used


@dataclass(frozen=True, eq=False)
class Sample:
    """A measured row with its layout complete, and the numbers of the parameters that it can tell of."""

    setup: Setup
    measured: float
    concerned: tuple[int, ...]


Sources = Mapping[str, Sequence[Sample]]


def seconds_at(sample: Sample, parameters: Sequence[Parameter], points: Floats) -> Floats:
    """Predicted seconds with the concerned parameters at each row of `points`, in steps."""
    values = {
        parameters[number]: points[:, place] * parameters[number].step
        for place, number in enumerate(sample.concerned)
    }
    return seconds_of(sample.setup, with_values(sample.setup.case, values), len(points))


def seconds_of(setup: Setup, case: Case, points: int) -> Floats:
    """Predicted seconds of a run on a case with `points` values of its figures: shape (points,)."""
    if setup.one_layer:
        two, three = (_layers(setup, case, count) for count in (2, 3))
        parts = [two[part] for part in two if part not in OUTSIDE_LAYERS]
        longer = [three[part] for part in three if part not in OUTSIDE_LAYERS]
        total: Any = sum(longer) - sum(parts)
    else:
        total = sum(_parts(setup, case).values())
    return np.broadcast_to(total / 1e9 * setup.share, (points,)).astype(float)


def _layers(setup: Setup, case: Case, count: int) -> dict[str, Any]:
    fewer = with_layers(replace(setup, case=case), count)
    return _parts(fewer, fewer.case)


def with_values(case: Case, values: Mapping[Parameter, Any]) -> Case:
    """A case with other values of fitted parameters, each a number or a column."""
    of_gpu = {it.field: value for it, value in values.items() if it.of_gpu}
    # Arrays stand for the numbers that the fields hold: the cost terms are numpy.
    traits: dict[str, Any] = {it.field: value for it, value in values.items() if not it.of_gpu}
    gpu = case.gpu.model_copy(update=of_gpu)
    job = case.job.model_copy(update={"cluster": case.cluster.model_copy(update={"gpu": gpu})})
    return Case(job, replace(case.target, traits=case.traits.replaced(**traits)))


def _parts(setup: Setup, case: Case) -> dict[str, Any]:
    """Nanoseconds of a step by part, for arrays of rates."""
    layout = {name: setup.layout[name] for name in ORDER}
    return varied_parts(case, layout, placement_of(setup, layout["vpp"]))


@dataclass(frozen=True)
class Axes:
    """The exact times of a row around a point: at the point, and along each concerned parameter."""

    sample: Sample
    centre: Point
    seconds: float
    along: tuple[Floats, ...]


def axes(sample: Sample, parameters: Sequence[Parameter], centre: Point) -> Axes:
    own = [centre[number] for number in sample.concerned]
    points = [own]
    for place, number in enumerate(sample.concerned):
        it = parameters[number]
        points += [[*own[:place], value, *own[place + 1 :]] for value in range(it.low, it.high + 1)]
    found = seconds_at(sample, parameters, np.array(points, dtype=float).reshape(len(points), -1))
    lengths = [parameters[number].high - parameters[number].low + 1 for number in sample.concerned]
    parts = np.split(found[1:], np.cumsum(lengths)[:-1]) if lengths else []
    return Axes(sample, centre, float(found[0]), tuple(parts))


@dataclass(frozen=True)
class Fit:
    """A descent over `parameters`."""

    parameters: tuple[Parameter, ...]

    @property
    def priors(self) -> Point:
        return tuple(it.prior for it in self.parameters)

    def errors(self, samples: Sequence[Sample], point: Point) -> Floats:
        """log(predicted / measured), exact."""
        return np.array(
            [np.log(self._exact(sample, point) / sample.measured) for sample in samples]
        )

    def _exact(self, sample: Sample, point: Point) -> float:
        own = np.array([[point[number] for number in sample.concerned]], dtype=float)
        return float(seconds_at(sample, self.parameters, own)[0])

    def priced(self, sources: Sources, centre: Point) -> dict[str, list[Axes]]:
        return {
            name: [axes(each, self.parameters, centre) for each in found]
            for name, found in sources.items()
        }

    def loss(self, sources: Sources, point: Point) -> float:
        """Mean over sources of the mean over their rows; a parameter off its prior costs a little."""
        each = [loss_of(self.errors(found, point)).mean() for found in sources.values()]
        return float(np.mean(each)) + self._strain(point)

    def _strain(self, point: Point) -> float:
        pairs = zip(self.parameters, point, strict=True)
        return STRAIN * sum(((value - it.prior) / (it.high - it.low)) ** 2 for it, value in pairs)

    def descend(self, sources: Sources, start: Point) -> Point:
        """From `start` to where no change of a single parameter lowers the loss."""
        point, best = start, self.loss(sources, start)
        for _ in range(ROUNDS):
            tables = self.priced(sources, point)
            moved = self.settle(tables, point)
            lowered = self.loss(sources, moved)
            if lowered >= best:
                moved = self._single(tables, point)
                lowered = self.loss(sources, moved)
            if moved == point or lowered >= best:
                break
            point, best = moved, lowered
        return point

    def settle(self, tables: Mapping[str, Sequence[Axes]], start: Point) -> Point:
        """Coordinate descent on times that add up what each parameter changes alone."""
        point = start
        for _ in range(PASSES):
            before = point
            for number in range(len(self.parameters)):
                point = self._line(tables, point, number)[0]
            for pair in self._pairs():
                point = self._traded(tables, point, *pair)
            if point == before:
                break
        return point

    def _pairs(self) -> list[tuple[int, int]]:
        """Parameters of the same owners, which explain the same rows."""
        numbers = range(len(self.parameters))
        return [
            (one, two)
            for one in numbers
            for two in numbers
            if one != two and set(self.parameters[one].owners) & set(self.parameters[two].owners)
        ]

    def _traded(
        self, tables: Mapping[str, Sequence[Axes]], point: Point, one: int, two: int
    ) -> Point:
        """A step of one parameter, either way, that the best value of the other makes worth it."""
        it = self.parameters[one]
        found = [(0.0, point)]
        for value in (point[one] - 1, point[one] + 1):
            if it.low <= value <= it.high:
                moved = _moved(point, one, value)
                changed = self._change(tables, point, one, value)
                answered, lowered = self._line(tables, moved, two)
                found.append((changed + lowered, answered))
        change, best = min(found, key=lambda each: each[0])
        return best if change < -1e-9 else point

    def _single(self, tables: Mapping[str, Sequence[Axes]], point: Point) -> Point:
        """The best change of one parameter, which the tables price exactly."""
        lines = [self._line(tables, point, number) for number in range(len(self.parameters))]
        return min(lines, key=lambda found: found[1])[0]

    def _line(
        self, tables: Mapping[str, Sequence[Axes]], point: Point, number: int
    ) -> tuple[Point, float]:
        """The best value of one parameter over its whole range, and what it lowers the loss by (negative)."""
        total, low = self._along(tables, point, number), self.parameters[number].low
        here = total[point[number] - low]
        if total.min() >= here - 1e-12:
            return point, 0.0
        return _moved(point, number, int(total.argmin()) + low), float(total.min() - here)

    def _change(
        self, tables: Mapping[str, Sequence[Axes]], point: Point, number: int, value: int
    ) -> float:
        total, low = self._along(tables, point, number), self.parameters[number].low
        return float(total[value - low] - total[point[number] - low])

    def _along(self, tables: Mapping[str, Sequence[Axes]], point: Point, number: int) -> Floats:
        """The loss along one parameter, less that of sources it says nothing of."""
        it = self.parameters[number]
        values = range(it.low, it.high + 1)
        total = np.array([self._strain(_moved(point, number, value)) for value in values])
        for found in tables.values():
            if any(number in row.sample.concerned for row in found):
                rows = sum(self._of_line(row, point, number) for row in found)
                total = total + rows / len(found) / len(tables)
        return total

    def _of_line(self, row: Axes, point: Point, number: int) -> Any:
        """The loss of a row along one parameter."""
        concerned, low = row.sample.concerned, [it.low for it in self.parameters]
        seconds: Any = row.seconds
        for each, times in zip(concerned, row.along, strict=True):
            change = times if each == number else times[point[each] - low[each]]
            seconds = seconds + change - row.seconds
        return loss_of(np.log(seconds / row.sample.measured))


def _moved(point: Point, number: int, value: int) -> Point:
    return (*point[:number], value, *point[number + 1 :])


def loss_of(errors: Any) -> Any:
    """The size of each error, rounded off near 0: what a median of sizes goes by, and rows that the model
    cannot explain pull no harder than others."""
    return np.sqrt(errors**2 + SMOOTH**2) - SMOOTH


def median_error(errors: Floats) -> float:
    """Median of |predicted / measured - 1|."""
    return float(median(np.abs(np.expm1(errors)).tolist()))


def sample_of(setup: Setup, measured: float, parameters: Sequence[Parameter]) -> Sample:
    concerned = tuple(k for k, it in enumerate(parameters) if it.concerns(setup.asked))
    return Sample(setup, measured, concerned)
