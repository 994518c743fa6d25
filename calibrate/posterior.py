"""Measured runs -> what is likely of the parameters of their cluster, given what is usual.

ln(measured / predicted seconds) of each run is distributed as Student's t, so that a run that fits no cluster
is outvoted, and the errors of the parameters are normal around the values in use (parameters.py). How far
clusters are off is not one number: this one may be like those that parc knows, or another kind, and how much
of a run no parameter explains is open too. Each of these answers is fitted, and they are averaged by their
evidence by Laplace's method (Tarantola, Inverse Problem Theory, 2005, chapter 3; MacKay 1992, Neural
Computation 4, for the evidence; Lange, Little and Taylor 1989, Journal of the American Statistical
Association 84, for the weights). A fit with much left open has one optimum, in which all runs count; the
others follow from it step by step, so that the result does not depend on where a search would begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..compiler.search.expected_step import FREEDOM, LEFT_OPEN
from .parameters import Floats, prior_covariance, prior_std

#: For how many runs the usual deviation of what formulas leave open counts when these tell another; assumed.
EXPECTED_RUNS = 4.0
#: The deviations that are tried, from all runs counting to hardly any that is off.
LEFT_OPENS = np.geomspace(0.32, 0.02, 10)
#: Shares of the parameters' deviations by which kinds of clusters are off, which are as likely: one like
#: those that parc knows, and any. Chosen by benchmarks/transfer.py, with and without what is known of it.
KINDS = (0.25, 1.0)
#: Half the interval of the central differences, in errors of parameters.
STEP = 0.05
#: Steps of one fit, which begins at the one before.
ITERATIONS = 30
#: Shares of a step that are tried until one is no worse.
DAMPING = (1.0, 0.5, 0.25, 0.1)
#: Change of all errors below which the fit has settled.
SETTLED = 1e-3
#: The least weight of a fit that counts.
NEGLIGIBLE = 1e-3


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
    """Errors of PARAMETERS: their mean and covariance. `usual` are their deviations if the runs told nothing
    but which kind of cluster it is. `left_open` is the deviation of what
    no parameter explains of a run, `weights` how much each run counts, 1 where it is met; `spread`
    the deviation of ln(measured / predicted) of a run like these that is not among them."""

    errors: Floats
    covariance: Floats
    usual: Floats
    left_open: float
    weights: Floats
    spread: float

    @property
    def std(self) -> Floats:
        return np.asarray(np.sqrt(np.diag(self.covariance)))


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
    """Runs of one cluster, the least and largest error of each parameter, and the share of the parameters'
    deviations by which its kind is off."""

    runs: Sequence[Observation]
    bounds: Bounds
    kind: float

    @cached_property
    def prior(self) -> Floats:
        """Inverse of the prior covariance: shape (parameters, parameters)."""
        return np.asarray(np.linalg.inv(prior_covariance() * self.kind**2), dtype=np.float64)

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
        slopes = np.array([slope for _, slope in found]).reshape(len(found), len(errors))
        return Linear(errors, residuals, slopes)

    def weights(self, residuals: Floats, left_open: float) -> Floats:
        """The weight of each run: 1 + 1 / FREEDOM where it is met, less the farther it is off."""
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

    def settled(self, at: Linear, left_open: float) -> Linear:
        """The optimum that is reached from `at`."""
        for _ in range(ITERATIONS):
            step, loss = self.step(at, left_open), self.loss(at.errors, at.residuals, left_open)
            for damping in DAMPING:
                if np.abs(damping * step).max() < SETTLED:
                    return at
                there = self.linear(at.errors + damping * step)
                if self.loss(there.errors, there.residuals, left_open) <= loss:
                    break
            else:
                return at
            at = there
        return at

    def evidence(self, at: Linear, left_open: float) -> float:
        """Logarithm of the probability of the runs with this much left open, by Laplace's method, times that
        of so much being left open: a scaled inverse chi-squared distribution. Without constants."""
        variances = left_open**2 + self.clocks
        flat = (
            np.linalg.slogdet(self.precision(at, left_open))[1] - np.linalg.slogdet(self.prior)[1]
        )
        usual = EXPECTED_RUNS * (2.0 * np.log(left_open) + (LEFT_OPEN / left_open) ** 2)
        loss = self.loss(at.errors, at.residuals, left_open)
        return float(-loss - (np.log(variances).sum() + flat + usual) / 2.0)


@dataclass(frozen=True)
class Fit:
    """One kind of cluster with so much left open: the most likely errors."""

    problem: Problem
    left_open: float
    at: Linear

    @cached_property
    def evidence(self) -> float:
        return self.problem.evidence(self.at, self.left_open)

    @cached_property
    def covariance(self) -> Floats:
        return np.asarray(np.linalg.inv(self.problem.precision(self.at, self.left_open)))

    @property
    def weights(self) -> Floats:
        return self.problem.weights(self.at.residuals, self.left_open)

    @property
    def variance(self) -> float:
        """The variance of ln(seconds) of a run like these if it were not among them."""
        variances = self.left_open**2 + self.problem.clocks
        precision = self.problem.precision(self.at, self.left_open)
        unknown = [
            slope @ np.linalg.inv(precision - np.outer(slope, slope) * weight) @ slope
            for slope, weight in zip(self.at.slopes, self.weights / variances, strict=True)
        ]
        return self.left_open**2 + (float(np.mean(unknown)) if unknown else 0.0)


def posterior(runs: Sequence[Observation], bounds: Bounds) -> Posterior:
    """The parameters of the cluster that ran `runs`; without any, the prior."""
    fits = [fit for kind in KINDS for fit in _fits(Problem(runs, bounds, kind))]
    evidence = np.array([fit.evidence for fit in fits])
    shares = np.exp(evidence - evidence.max())
    kept = [(share, fit) for share, fit in zip(shares, fits, strict=True) if share > NEGLIGIBLE]
    total = sum(share for share, _ in kept)

    def mean(of: Callable[[Fit], Any]) -> Any:
        return sum(share / total * of(fit) for share, fit in kept)

    errors = mean(lambda fit: fit.at.errors)
    off = [(share / total, fit.at.errors - errors) for share, fit in kept]
    kind = mean(lambda fit: fit.problem.kind**2)
    return Posterior(
        errors=errors,
        covariance=mean(lambda fit: fit.covariance)
        + sum(share * np.outer(each, each) for share, each in off),
        usual=np.sqrt(kind) * prior_std(),
        left_open=float(np.sqrt(mean(lambda fit: fit.left_open**2))),
        weights=mean(lambda fit: fit.weights) * FREEDOM / (FREEDOM + 1.0),
        spread=float(np.sqrt(mean(lambda fit: fit.variance))),
    )


def _fits(problem: Problem) -> Iterator[Fit]:
    """The fits of each of LEFT_OPENS, each of which begins where the one before ended."""
    at = problem.linear(np.zeros(len(problem.bounds[0])))
    for left_open in map(float, LEFT_OPENS):
        at = problem.settled(at, left_open)
        yield Fit(problem, left_open, at)
