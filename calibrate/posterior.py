"""Measured runs -> what is likely of the parameters of their cluster, given what is usual.

Maximum a posteriori: ln(measured / predicted seconds) of each run is distributed as Student's t, so that a
run that fits no cluster is outvoted, and the errors of the parameters are normal around the values in use
(parameters.py). A parameter moves only as far as the runs outweigh its prior, and the spread that is left
over is that of the next prediction (Tarantola, Inverse Problem Theory, 2005, chapter 3; Lange, Little and
Taylor 1989, Journal of the American Statistical Association 84, for the weights).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .parameters import Floats, prior_covariance

#: Degrees of freedom of the errors of runs. Few: logs of one site are of machines in several states. After
#: six logs the 90th percentile of errors is 14.0 % with 2 and 14.9 % with 4, the median of the 17 sites of
#: benchmarks/transfer.py, with the changes of time along each parameter added up.
FREEDOM = 2.0
#: Deviation of what the formulas leave open from one layout to the next, with which four fifths of the runs
#: that were no logs lie in their band (benchmarks/transfer.py), and for how many runs it counts when these
#: tell another; assumed.
LEFT_OPEN, EXPECTED_RUNS = 0.06, 4.0
#: Half the interval of the central differences, in errors of parameters.
STEP = 0.05
ITERATIONS = 30
#: Shares of a step that are tried until one is no worse.
DAMPING = (1.0, 0.5, 0.25, 0.1)
#: Change of all errors below which the fit has settled.
SETTLED = 1e-4


#: Least and largest values, each of the shape (parameters,).
Bounds = tuple[Floats, Floats]


@dataclass(frozen=True)
class Observation:
    """A measured run. `log_seconds(errors)` prices it with figures off by each row of `errors`, shaped
    (points, parameters), as an array of the shape (points,). `clock` is the deviation of ln(measured) by
    noise alone."""

    log_seconds: Callable[[Floats], Floats]
    measured: float
    clock: float = 0.0


@dataclass(frozen=True)
class Linear:
    """Runs around one point: ln(measured / predicted), shape (runs,), and the derivatives of ln(predicted) by
    the errors, shape (runs, parameters)."""

    errors: Floats
    residuals: Floats
    slopes: Floats


@dataclass(frozen=True)
class Posterior:
    """Errors of PARAMETERS: the most likely ones and their covariance. `left_open` is the deviation of what
    no parameter explains of a run, `weights` how much each run counts, 1 where it is met; `spread`
    the deviation of ln(measured / predicted) of a run like these that is not among them."""

    errors: Floats
    covariance: Floats
    left_open: float
    weights: Floats
    spread: float

    @property
    def std(self) -> Floats:
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def spread_of(self, gradient: Floats) -> float:
        """The same for a run whose ln(seconds) has this gradient by the errors."""
        return float(np.sqrt(gradient @ self.covariance @ gradient + self.left_open**2))


def gradient(observation: Observation, errors: Floats, bounds: Bounds) -> tuple[float, Floats]:
    """ln(seconds) at `errors`, and its derivative by each of them, by differences within the bounds: shape
    (parameters,)."""
    low, high = (np.clip(errors + step, *bounds) for step in (-STEP, STEP))
    points = np.tile(errors, (2 * len(errors) + 1, 1))
    np.fill_diagonal(points[1 : len(errors) + 1], high)
    np.fill_diagonal(points[len(errors) + 1 :], low)
    found = observation.log_seconds(points)
    above, below = found[1 : len(errors) + 1], found[len(errors) + 1 :]
    return float(found[0]), (above - below) / (high - low)


@dataclass(frozen=True)
class Problem:
    """Runs of one cluster, and the least and largest error of each parameter."""

    runs: Sequence[Observation]
    bounds: Bounds

    @cached_property
    def prior(self) -> Floats:
        """Inverse of the prior covariance: shape (parameters, parameters)."""
        return np.asarray(np.linalg.inv(prior_covariance()), dtype=np.float64)

    @cached_property
    def measured(self) -> Floats:
        return np.log([run.measured for run in self.runs])

    @cached_property
    def clocks(self) -> Floats:
        """Variances of ln(measured) by noise alone: shape (runs,)."""
        return np.square([run.clock for run in self.runs])

    def linear(self, errors: Floats) -> Linear:
        found = [gradient(run, errors, self.bounds) for run in self.runs]
        residuals = self.measured - np.array([value for value, _ in found])
        return Linear(errors, residuals, np.array([slope for _, slope in found]))

    def weights(self, residuals: Floats, left_open: float) -> Floats:
        """What each run counts: 1 + 1 / FREEDOM where it is met, less the farther it is off."""
        variances = left_open**2 + self.clocks
        return np.asarray((FREEDOM + 1.0) / (FREEDOM + residuals**2 / variances))

    def precision(self, at: Linear, left_open: float) -> Floats:
        """Inverse of the posterior covariance, linearised: shape (parameters, parameters)."""
        weights = self.weights(at.residuals, left_open) / (left_open**2 + self.clocks)
        return np.asarray((at.slopes.T * weights) @ at.slopes + self.prior)

    def loss(self, errors: Floats, residuals: Floats, left_open: float) -> float:
        """Minus the logarithm of the probability of these errors."""
        squares = residuals**2 / (left_open**2 + self.clocks)
        runs = (FREEDOM + 1.0) / 2.0 * np.log1p(squares / FREEDOM).sum()
        return float(runs + errors @ self.prior @ errors / 2.0)

    def residuals(self, errors: Floats) -> Floats:
        found = [run.log_seconds(errors[None])[0] for run in self.runs]
        return np.asarray(self.measured - np.array(found))

    def step(self, at: Linear, left_open: float) -> Floats:
        """The Gauss-Newton step, of the parameters that it does not push out of their bounds."""
        precision = self.precision(at, left_open)
        weights = self.weights(at.residuals, left_open) / (left_open**2 + self.clocks)
        slope = at.slopes.T @ (weights * at.residuals) - self.prior @ at.errors
        low, high = self.bounds
        free = ~(((at.errors <= low) & (slope < 0)) | ((at.errors >= high) & (slope > 0)))
        found = np.zeros_like(slope)
        found[free] = np.linalg.solve(precision[np.ix_(free, free)], slope[free])
        return np.asarray(np.clip(at.errors + found, low, high) - at.errors)

    def left_open(self, at: Linear, before: float) -> float:
        """What the residuals tell of the deviation of runs that no parameter explains, beside what is
        expected: of each run its square and what is unknown of its prediction."""
        if not self.runs:
            return before
        covariance = np.linalg.inv(self.precision(at, before))
        unknown = np.einsum("ij,jk,ik->i", at.slopes, covariance, at.slopes)
        weights = self.weights(at.residuals, before)
        share = before**2 / (before**2 + self.clocks)
        squares = share * weights * at.residuals**2 + unknown
        total = EXPECTED_RUNS * LEFT_OPEN**2 + squares.sum()
        return float(np.sqrt(total / (EXPECTED_RUNS + len(self.runs))))


def posterior(runs: Sequence[Observation], bounds: Bounds) -> Posterior:
    """The parameters of the cluster that ran `runs`; without any, the prior."""
    problem = Problem(runs, bounds)
    at, left_open = problem.linear(np.zeros(len(bounds[0]))), LEFT_OPEN
    for _ in range(ITERATIONS):
        moved = _moved(problem, at, left_open)
        now = problem.left_open(moved, left_open)
        settled = np.abs(moved.errors - at.errors).max() < SETTLED
        at, left_open, before = moved, now, left_open
        if settled and abs(left_open - before) < SETTLED:
            break
    covariance = np.asarray(np.linalg.inv(problem.precision(at, left_open)), dtype=np.float64)
    unknown = [_apart(problem, at, left_open, number) for number in range(len(runs))]
    return Posterior(
        errors=at.errors,
        covariance=covariance,
        left_open=left_open,
        weights=problem.weights(at.residuals, left_open) * FREEDOM / (FREEDOM + 1.0),
        spread=float(np.sqrt(left_open**2 + np.mean(unknown))) if runs else left_open,
    )


def _moved(problem: Problem, at: Linear, left_open: float) -> Linear:
    step, loss = problem.step(at, left_open), problem.loss(at.errors, at.residuals, left_open)
    for damping in DAMPING:
        errors = at.errors + damping * step
        if problem.loss(errors, problem.residuals(errors), left_open) <= loss:
            return problem.linear(errors)
    return at


def _apart(problem: Problem, at: Linear, left_open: float, number: int) -> float:
    """The variance of ln(seconds) of a run if it were not among the others."""
    weight = problem.weights(at.residuals, left_open)[number]
    own = np.outer(at.slopes[number], at.slopes[number]) * weight
    others = problem.precision(at, left_open) - own / (left_open**2 + problem.clocks[number])
    return float(at.slopes[number] @ np.linalg.inv(others) @ at.slopes[number])
