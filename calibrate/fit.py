"""Measured runs -> the few parameters of their cluster that the runs tell of.

Maximum a posteriori in logarithms: the squares of log(predicted / measured), in units of what formulas and
clocks leave open, plus the squares of log(parameter / prior), in units of how far such a parameter usually
is from its published value. So a run moves what it tells of, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..compiler.pricing.estimate import columns_of, time_by_part
from ..dsl.job import Job
from .measured_run import Run

Floats = NDArray[np.float64]
Values = Mapping[str, float]


@dataclass(frozen=True)
class Parameter:
    """One number of a cluster or its GPU: a share of a peak. `usual` is the standard deviation of its
    logarithm around the published value, from one cluster to the next; assumed, not measured."""

    name: str
    owner: Literal["gpu", "cluster"]
    usual: float


PARAMETERS = (
    Parameter("matmul_efficiency", "gpu", 0.2),
    Parameter("attention_efficiency", "gpu", 0.3),
    Parameter("link_efficiency", "gpu", 0.2),
    Parameter("network_efficiency", "cluster", 0.3),
)
#: What the formulas leave open from one layout to the next, as a share of a step.
FORMULA = 0.03
#: A parameter is told of when the runs halve what is unknown of it.
TOLD = 0.5
#: A share of a peak is no less and no more.
LOWEST, HIGHEST = 0.02, 1.0
#: Finite difference, in logarithms.
STEP = 0.02
ITERATIONS = 20
DAMPING = (1.0, 0.5, 0.25, 0.1)
#: Decrease of the loss, in squares of standard deviations, that is not worth a step.
SMALL = 1e-3
DIGITS = 3


@dataclass(frozen=True)
class Finding:
    """One parameter: before, after, and what is unknown of it (standard deviation of its logarithm).

    `told` says whether the runs tell of it; one that they do not tell of keeps its prior.
    """

    parameter: Parameter
    prior: float
    value: float
    unknown: float
    told: bool


def value_in(job: Job, parameter: Parameter) -> float:
    owner = job.cluster.gpu if parameter.owner == "gpu" else job.cluster
    return float(getattr(owner, parameter.name))


def with_values(job: Job, values: Values) -> Job:
    """The job on a cluster with other parameters."""
    of = {kind: {p.name for p in PARAMETERS if p.owner == kind} for kind in ("gpu", "cluster")}
    gpu = job.cluster.gpu.model_copy(
        update={name: value for name, value in values.items() if name in of["gpu"]}
    )
    changes = {name: value for name, value in values.items() if name in of["cluster"]}
    cluster = job.cluster.model_copy(update={**changes, "gpu": gpu})
    return job.model_copy(update={"cluster": cluster})


def predicted_seconds(run: Run, values: Values) -> float:
    """Seconds of a step of the run's layout, priced as `parc estimate` prices it."""
    case = replace(run.case, job=with_values(run.job, values))
    parts = time_by_part(case, columns_of(case, run.layout), run.placement)
    return sum(parts.values()) / 1e9


@dataclass(frozen=True)
class Fit:
    """The problem: runs, the prior of every parameter, and which parameters may move."""

    runs: Sequence[Run]
    prior: Values
    moving: tuple[Parameter, ...]

    @cached_property
    def certainty(self) -> Floats:
        """One over the standard deviation of each run's residual."""
        spread = [run.measured.spread / math.sqrt(run.measured.reports) for run in self.runs]
        return np.array([1 / math.hypot(FORMULA, each) for each in spread])

    @cached_property
    def usual(self) -> Floats:
        return np.array([parameter.usual for parameter in self.moving])

    def values(self, moved: Floats) -> dict[str, float]:
        """All parameters, those that move at exp(moved) times their prior."""
        shifts = {p.name: float(shift) for p, shift in zip(self.moving, moved, strict=True)}
        return {name: value * math.exp(shifts.get(name, 0.0)) for name, value in self.prior.items()}

    def residuals(self, moved: Floats) -> Floats:
        values = self.values(moved)
        errors = [math.log(predicted_seconds(r, values) / r.measured.seconds) for r in self.runs]
        return np.array(errors) * self.certainty

    def slopes(self, moved: Floats) -> Floats:
        """Change of each residual with each parameter's logarithm."""
        columns = []
        for index in range(len(self.moving)):
            shift = np.zeros(len(self.moving))
            shift[index] = STEP
            columns.append(
                (self.residuals(moved + shift) - self.residuals(moved - shift)) / (2 * STEP)
            )
        return np.array(columns).reshape(len(self.moving), len(self.runs)).T

    def loss(self, residuals: Floats, moved: Floats) -> float:
        return float(np.sum(residuals**2) + np.sum((moved / self.usual) ** 2))

    def unknown(self, slopes: Floats) -> Floats:
        """Standard deviation of each moving parameter's logarithm, given the runs."""
        return np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes + np.diag(self.usual**-2))))

    def solve(self) -> Floats:
        """Damped Gauss-Newton from the prior, within the bounds of a share."""
        low, high = self._bounds()
        moved = np.zeros(len(self.moving))
        residuals = self.residuals(moved)
        for _ in range(ITERATIONS):
            slopes, best = self.slopes(moved), self.loss(residuals, moved)
            push = slopes.T @ residuals + moved / self.usual**2
            step = np.linalg.solve(slopes.T @ slopes + np.diag(self.usual**-2), push)
            for damping in DAMPING:
                tried = np.clip(moved - damping * step, low, high)
                found = self.residuals(tried)
                if self.loss(found, tried) < best - SMALL:
                    moved, residuals = tried, found
                    break
            else:
                break
        return moved

    def _bounds(self) -> tuple[Floats, Floats]:
        priors = np.array([self.prior[parameter.name] for parameter in self.moving])
        return np.log(LOWEST / priors), np.log(HIGHEST / priors)


def fit(runs: Sequence[Run], prior: Values) -> list[Finding]:
    """Every parameter. Fewer move than there are runs, so that residuals are left to judge by."""
    everything = Fit(runs, prior, PARAMETERS)
    moving = _told(everything, everything.slopes(np.zeros(len(PARAMETERS))))
    while moving:
        problem = Fit(runs, prior, moving)
        moved = problem.solve()
        slopes = problem.slopes(moved)
        if _told(problem, slopes) == moving:
            return _findings(problem, moved, problem.unknown(slopes))
        moving = _told(problem, slopes)
    return _findings(Fit(runs, prior, ()), np.zeros(0), np.zeros(0))


def _told(problem: Fit, slopes: Floats) -> tuple[Parameter, ...]:
    """The moving parameters less, one by one, the one that the runs tell least of."""
    moving = problem.moving
    while moving:
        columns = [problem.moving.index(each) for each in moving]
        part = replace(problem, moving=moving)
        shares = part.unknown(slopes[:, columns]) / part.usual
        if len(moving) < len(problem.runs) and max(shares) <= TOLD:
            break
        worst = int(np.argmax(shares))
        moving = (*moving[:worst], *moving[worst + 1 :])
    return moving


def _findings(problem: Fit, moved: Floats, unknown: Floats) -> list[Finding]:
    spread = dict(zip((p.name for p in problem.moving), unknown, strict=True))
    values = problem.values(moved)
    return [
        Finding(
            parameter=each,
            prior=problem.prior[each.name],
            value=(
                float(f"{values[each.name]:.{DIGITS}g}")
                if each.name in spread
                else problem.prior[each.name]
            ),
            unknown=float(spread.get(each.name, each.usual)),
            told=each.name in spread,
        )
        for each in PARAMETERS
    ]
