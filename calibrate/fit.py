"""Measured runs and prior values -> the few parameters of their cluster, fitted where the runs identify them.

Maximum a posteriori in logarithms: the sum of squares of log(predicted / measured), in standard deviations of
formulas and clocks, plus the sum of squares of log(parameter / prior), in prior standard deviations. Both are
least squares, so a parameter moves only as far as the runs outweigh its prior (Tarantola, Inverse Problem
Theory, 2005, chapter 3).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..compiler.pricing.estimate import one_row, time_by_part
from ..compiler.pricing.ranks import Ranks
from ..dsl.job import Job
from .measured_run import MeasuredRun

Floats = NDArray[np.float64]
#: Parameters by name, each a share of a peak between 0 and 1.
Values = Mapping[str, float]


@dataclass(frozen=True)
class Parameter:
    """One number of a cluster or its GPU: a share of a peak. `prior_std` is the standard deviation of its
    logarithm around the published value, from one cluster to the next; assumed, not measured."""

    name: str
    owner: Literal["gpu", "cluster"]
    prior_std: float


PARAMETERS = (
    Parameter("matmul_efficiency", "gpu", 0.2),
    Parameter("attention_efficiency", "gpu", 0.3),
    Parameter("link_efficiency", "gpu", 0.2),
    Parameter("network_efficiency", "cluster", 0.3),
)
#: Standard deviation of the formulas' own error from one layout to the next, as a share of a step.
FORMULA_STD = 0.03
#: A parameter is identifiable when its posterior standard deviation is at most this share of its prior one.
IDENTIFIABLE = 0.5
#: Bounds of every parameter: a share of a peak.
LOWEST, HIGHEST = 0.02, 1.0
#: Half the interval of the central differences of the Jacobian, in logarithms.
STEP = 0.02
ITERATIONS = 20
#: Shares of a Gauss-Newton step that are tried until one lowers the loss.
DAMPING = (1.0, 0.5, 0.25, 0.1)
#: The smallest decrease of the loss, in squares of standard deviations, that goes on iterating.
TOLERANCE = 1e-3
#: Significant digits of a fitted value.
DIGITS = 3


@dataclass(frozen=True)
class FittedParameter:
    """One parameter before and after the fit; one that is not identifiable keeps its prior value.

    `posterior_std` is the standard deviation of the parameter's logarithm, given the runs.
    """

    parameter: Parameter
    prior: float
    value: float
    posterior_std: float
    identifiable: bool


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


def predicted_seconds(run: MeasuredRun, values: Values) -> float:
    """Seconds of a step of the run's layout, priced as `parc estimate` prices it."""
    case = replace(run.case, job=with_values(run.job, values))
    parts = time_by_part(Ranks(case, one_row(case, run.layout)), run.placement)
    return sum(parts.values()) / 1e9


@dataclass(frozen=True)
class LeastSquares:
    """The problem: runs, the prior value of every parameter, and the parameters that are free.

    A point is `log_ratios`, log(parameter / prior) of each free parameter: shape (free,), zero at the prior.
    """

    runs: Sequence[MeasuredRun]
    prior: Values
    free: tuple[Parameter, ...]

    @cached_property
    def weights(self) -> Floats:
        """One over the standard deviation of each run's log(predicted / measured): shape (runs,)."""
        clocks = [run.steps.spread / math.sqrt(run.steps.reports) for run in self.runs]
        return np.array([1 / math.hypot(FORMULA_STD, clock) for clock in clocks])

    @cached_property
    def prior_std(self) -> Floats:
        """Shape (free,)."""
        return np.array([parameter.prior_std for parameter in self.free])

    def values(self, log_ratios: Floats) -> dict[str, float]:
        """All parameters, the free ones at exp(log_ratios) times their prior value."""
        shifts = {p.name: float(shift) for p, shift in zip(self.free, log_ratios, strict=True)}
        return {name: value * math.exp(shifts.get(name, 0.0)) for name, value in self.prior.items()}

    def residuals(self, log_ratios: Floats) -> Floats:
        """log(predicted / measured) of each run, in standard deviations: shape (runs,)."""
        values = self.values(log_ratios)
        errors = [math.log(predicted_seconds(run, values) / run.steps.seconds) for run in self.runs]
        return np.array(errors) * self.weights

    def jacobian(self, log_ratios: Floats) -> Floats:
        """Derivative of each residual by each log ratio, by central differences: shape (runs, free)."""
        columns = []
        for index in range(len(self.free)):
            shift = np.zeros(len(self.free))
            shift[index] = STEP
            above, below = self.residuals(log_ratios + shift), self.residuals(log_ratios - shift)
            columns.append((above - below) / (2 * STEP))
        return np.array(columns).reshape(len(self.free), len(self.runs)).T

    def loss(self, residuals: Floats, log_ratios: Floats) -> float:
        return float(np.sum(residuals**2) + np.sum((log_ratios / self.prior_std) ** 2))

    def precision(self, jacobian: Floats) -> Floats:
        """Inverse of the posterior covariance, linearised (Gauss-Newton): shape (free, free)."""
        return jacobian.T @ jacobian + np.diag(self.prior_std**-2)

    def posterior_std(self, jacobian: Floats) -> Floats:
        """Standard deviation of each log ratio, given the runs: shape (free,)."""
        return np.sqrt(np.diag(np.linalg.inv(self.precision(jacobian))))

    def solve(self) -> Floats:
        """Log ratios of least loss: damped Gauss-Newton from the prior, within the bounds of a share."""
        low, high = self._bounds()
        best = np.zeros(len(self.free))
        residuals = self.residuals(best)
        for _ in range(ITERATIONS):
            jacobian, loss = self.jacobian(best), self.loss(residuals, best)
            gradient = jacobian.T @ residuals + best / self.prior_std**2
            step = np.linalg.solve(self.precision(jacobian), gradient)
            for damping in DAMPING:
                tried = np.clip(best - damping * step, low, high)
                found = self.residuals(tried)
                if self.loss(found, tried) < loss - TOLERANCE:
                    best, residuals = tried, found
                    break
            else:
                break
        return best

    def _bounds(self) -> tuple[Floats, Floats]:
        priors = np.array([self.prior[parameter.name] for parameter in self.free])
        return np.log(LOWEST / priors), np.log(HIGHEST / priors)


def fit(runs: Sequence[MeasuredRun], prior: Values) -> list[FittedParameter]:
    """Every parameter. Fewer are free than there are runs, so that residuals are left to judge by."""
    everything = LeastSquares(runs, prior, PARAMETERS)
    free = _identifiable(everything, everything.jacobian(np.zeros(len(PARAMETERS))))
    while free:
        problem = LeastSquares(runs, prior, free)
        best = problem.solve()
        jacobian = problem.jacobian(best)
        if _identifiable(problem, jacobian) == free:
            return _fitted(problem, best, problem.posterior_std(jacobian))
        free = _identifiable(problem, jacobian)
    return _fitted(LeastSquares(runs, prior, ()), np.zeros(0), np.zeros(0))


def _identifiable(problem: LeastSquares, jacobian: Floats) -> tuple[Parameter, ...]:
    """The free parameters less, one by one, the one whose prior the runs narrow least."""
    free = problem.free
    while free:
        columns = [problem.free.index(each) for each in free]
        part = replace(problem, free=free)
        shares = part.posterior_std(jacobian[:, columns]) / part.prior_std
        if len(free) < len(problem.runs) and max(shares) <= IDENTIFIABLE:
            break
        worst = int(np.argmax(shares))
        free = (*free[:worst], *free[worst + 1 :])
    return free


def _fitted(
    problem: LeastSquares, log_ratios: Floats, posterior_std: Floats
) -> list[FittedParameter]:
    deviations = dict(zip((p.name for p in problem.free), posterior_std, strict=True))
    values = problem.values(log_ratios)
    return [
        FittedParameter(
            parameter=each,
            prior=problem.prior[each.name],
            value=(
                float(f"{values[each.name]:.{DIGITS}g}")
                if each.name in deviations
                else problem.prior[each.name]
            ),
            posterior_std=float(deviations.get(each.name, each.prior_std)),
            identifiable=each.name in deviations,
        )
        for each in PARAMETERS
    ]
