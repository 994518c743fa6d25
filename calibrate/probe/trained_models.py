"""Steps of the probe's small models -> the numbers of a cluster at which their prices are what was measured.

A loop tells what a kernel reaches alone; a step also has what no loop has: caches that other kernels filled,
clocks under the power of all of them, Python between them. Each step is a run of training, and is used as
`parc calibrate` uses runs: an observation of the same parameters, with the same priors around the numbers so
far (calibrate/posterior.py). What prices misjudge of seven models would move every number a little: an error
within one of its deviations moves none, and of twice as much it moves whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dsl.hardware import Cluster
from ..measured_run import MeasuredRun
from ..parameters import bounds, with_settings
from ..posterior import posterior
from ..site import observation, predicted_seconds, written
from .in_training import unexplained
from .rows import Training
from .small_models import run_of

#: Deviations of a parameter's error that count as chance.
CHANCE = 1.0


@dataclass(frozen=True)
class Trained:
    """`cluster` with what steps of `count` models tell of it; ln(priced / measured) of each of them with the
    numbers of loops, and with these."""

    cluster: Cluster
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def count(self) -> int:
        return len(self.before)


def trained(cluster: Cluster, rows: Sequence[Training]) -> Trained:
    """The cluster as it was where it has no row, or its GPU no bf16."""
    runs = [run_of(row, cluster) for row in rows if row.times and cluster.gpu.bf16]
    if not runs:
        return Trained(cluster, (), ())
    found = posterior([observation(cluster, [run]) for run in runs], bounds(cluster))
    errors = [
        unexplained(error, CHANCE * std) for error, std in zip(found.errors, found.std, strict=True)
    ]
    told = with_settings(cluster, written(cluster, np.array(errors)))
    return Trained(told, _errors(runs, cluster), _errors(runs, told))


def _errors(runs: Sequence[MeasuredRun], cluster: Cluster) -> tuple[float, ...]:
    return tuple(math.log(predicted_seconds(run, cluster) / run.steps.seconds) for run in runs)
