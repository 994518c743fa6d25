"""Parameters that differ from one cluster to the next: the table of parameters, and a case with other values
of them.

Values are written as settings of the job's `gpu` and `cluster`, so that a job that imports them is priced as
they were fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..compiler.case import Case
from ..dsl.hardware import Cluster

Floats = npt.NDArray[np.float64]
Owner = Literal["gpu", "cluster"]


@dataclass(frozen=True)
class Parameter:
    """Figures of a GPU and a cluster that share an error.

    An error `e` of a parameter that scales divides `rates` and multiplies `times` by exp(e), so that they
    take that much longer; of a `share` it is what is added to it, at least 0. `prior_std` is the deviation of
    `e` from one cluster to the next.
    """

    name: str
    prior_std: float
    rates: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    share: str = ""
    needs: str = ""
    """The rate of the GPU without which there is no such parameter."""

    @property
    def settings(self) -> tuple[str, ...]:
        return (*self.rates, *self.times, *((self.share,) if self.share else ()))


#: Assumed, but within what measured runs of single sources ask for (benchmarks/transfer.py scores them).
PARAMETERS = (
    Parameter("products", 0.12, rates=("matmul_efficiency",)),
    Parameter("fp8 products", 0.12, rates=("fp8_efficiency",), needs="fp8"),
    Parameter("fp4 products", 0.12, rates=("fp4_efficiency",), needs="fp4"),
    Parameter("attention", 0.5, rates=("attention_efficiency",)),
    Parameter("memory", 0.3, rates=("memory_efficiency",)),
    Parameter("link", 0.4, rates=("link_efficiency",), times=("nvlink_latency",)),
    Parameter("network", 0.6, rates=("network_efficiency",), times=("network_latency",)),
    Parameter("host", 0.7, times=("kernel_launch", "host_time")),
    Parameter("overlap", 0.5, share="overlap_lost"),
)
#: Deviation of an error that all of them but shares have in common: of a framework, its version, or a clock.
COMMON_STD = 0.1
#: The least share of a peak that is believed, and the largest.
LOWEST, HIGHEST = 0.02, 1.0
SCALES = np.array([not each.share for each in PARAMETERS])


def prior_covariance() -> Floats:
    """The covariance of the errors of PARAMETERS: shape (parameters, parameters)."""
    own = np.diag(np.square([each.prior_std for each in PARAMETERS]))
    return np.asarray(own + COMMON_STD**2 * np.outer(SCALES, SCALES))


def prior_std() -> Floats:
    """Deviations of the errors of PARAMETERS: shape (parameters,)."""
    return np.asarray(np.sqrt(np.diag(prior_covariance())))


def owner_of(setting: str) -> Owner:
    return "cluster" if setting in Cluster.model_fields else "gpu"


def figure(cluster: Cluster, setting: str) -> float:
    return float(getattr(cluster if owner_of(setting) == "cluster" else cluster.gpu, setting))


def bounds(cluster: Cluster) -> tuple[Floats, Floats]:
    """The least and the largest error of each parameter, so that shares of a peak stay possible; figures that
    are not may stay as they are."""
    low, high = [], []
    for each in PARAMETERS:
        rates = [figure(cluster, name) for name in each.rates]
        low.append(min(0.0, max((np.log(rate / HIGHEST) for rate in rates), default=-np.inf)))
        high.append(max(0.0, min((np.log(rate / LOWEST) for rate in rates), default=np.inf)))
        if each.share:
            start = figure(cluster, each.share)
            low[-1], high[-1] = -start, 1.0 - start
    return np.array(low, dtype=float), np.array(high, dtype=float)


def moved(cluster: Cluster, errors: Floats) -> dict[str, Any]:
    """Every setting of PARAMETERS at these errors: numbers, or columns for errors of the shape (points,
    parameters)."""
    found: dict[str, Any] = {}
    for each, error in zip(PARAMETERS, np.moveaxis(np.asarray(errors), -1, 0), strict=True):
        found |= {name: figure(cluster, name) / np.exp(error) for name in each.rates}
        found |= {name: figure(cluster, name) * np.exp(error) for name in each.times}
        if each.share:
            found[each.share] = figure(cluster, each.share) + error
    return found


def with_settings(cluster: Cluster, settings: Mapping[str, Any]) -> Cluster:
    """The cluster with other values of settings of its own or its GPU, each by its name."""

    def of(owner: Owner) -> dict[str, Any]:
        return {name: value for name, value in settings.items() if owner_of(name) == owner}

    gpu = cluster.gpu.model_copy(update=of("gpu"))
    return cluster.model_copy(update={**of("cluster"), "gpu": gpu})


def at(case: Case, errors: Floats) -> Case:
    """A case whose figures are off by `errors`: one set, or columns for several."""
    cluster = with_settings(case.cluster, moved(case.cluster, errors))
    return replace(case, job=case.job.model_copy(update={"cluster": cluster}))
