"""How well a site is predicted after a few logs of its own: calibrate on k random runs, predict the others.

    python benchmarks/transfer.py [--data FILE.csv] [--runs 3,6,12] [--seeds 5] [--json FILE]

For each source and GPU with at least 15 timed runs that accuracy.py prices, and for each seed, k random runs
are a site's logs; `parc calibrate`'s fit moves the figures of GPU and cluster, and the other runs are
predicted with them. `before` is what is predicted of the same runs without, `left_out` without this source's
own entries and facts and with efficiencies fitted to the other sources. The
same file and arguments give the same numbers. Exit codes: 0 something was scored, 1 nothing was, 2 the file or
the arguments are unusable.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks.accuracy import accuracy, fit, left_out
from benchmarks.accuracy.fit_by_descent import Fit, Sample, seconds_of, with_values
from benchmarks.accuracy.report import scores
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.accuracy.rows.csv_rows import Unreadable
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import Setup
from parc.calibrate.parameters import Floats, at, bounds
from parc.calibrate.posterior import Observation, Posterior, gradient, posterior
from parc.compiler.risk import FOUR_OF_FIVE

Report = dict[str, Any]
#: Timed runs of one source on one GPU that make a site worth scoring.
SITE = 15
FIGURES = ("median_ape", "p90_ape", "spearman", "regret", "in_band")


@dataclass(frozen=True, eq=False)
class Run:
    """A measured run of a site."""

    setup: Setup
    measured: float

    def log_seconds(self, errors: Floats) -> Floats:
        return np.log(seconds_of(self.setup, at(self.setup.case, errors), len(errors)))

    @cached_property
    def observation(self) -> Observation:
        return Observation(self.log_seconds, self.measured)

    @cached_property
    def before(self) -> float:
        return float(self.log_seconds(np.zeros((1, len(self.bounds[0]))))[0])

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        return bounds(self.setup.case.cluster)

    @property
    def spread(self) -> float:
        return self.setup.case.gpu.step_spread

    @cached_property
    def scored(self) -> scores.Scored:
        return scores.Scored(self.setup, predict(self.setup), self.measured)


Site = Sequence[Run]
