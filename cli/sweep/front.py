"""Plans -> the Pareto front: of which no other is at least as good in everything and better in something.

An MFU is a share of a peak, and a number of GPUs one of GPUs of a kind: where plans differ in these, neither
says which plan is better, and the front weighs what is absolute: time, cost and energy.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes

if TYPE_CHECKING:
    from parc.dsl.job import Job

    from .grid import Grid

#: What a front may weigh, by the key of a plan: 1 where less is better, -1 where more is.
SIGNS = {"days": 1, "cost": 1, "gpus": 1, "energy_joules": 1, "mfu": -1}
#: What means the same for every plan.
ABSOLUTE = ("days", "cost", "energy_joules")


def weighed(names: Sequence[str] | None, job: Job, grid: Grid) -> list[str]:
    """The criteria that a front weighs: the keys that are named, else all, the cost where there is a price.

    Raises `JobError` for a cost without one.
    """
    if names and "cost" in names and not priced(job, grid):
        message = "--front weighs the cost, and the cluster has no price"
        help = "such as --set 'cluster.price=2.5 $/h', of one GPU"
        raise JobError([Diagnostic(codes.NO_PRICE, message, help=help)])
    return [name for name in names or SIGNS if name != "cost" or priced(job, grid)]


def priced(job: Job, grid: Grid) -> bool:
    """Whether the plans of a sweep may cost something."""
    return job.cluster.price > 0 or any(axis.path == "cluster.price" for axis in grid.axes)


def comparable(
    criteria: Sequence[str], peaks: int, kinds: int, *, named: bool, priced: bool
) -> list[str]:
    """The criteria that compare plans of so many peaks and so many kinds of GPUs. GPUs are counted whatever
    they are where they are `named`; where nothing is left, time, cost and energy are."""
    left = [
        name
        for name in criteria
        if not (name == "mfu" and peaks > 1) and not (name == "gpus" and kinds > 1 and not named)
    ]
    return left or [name for name in ABSOLUTE if name != "cost" or priced]


class Front:
    """The best of what was added, by `criteria`: in memory is the front alone."""

    def __init__(self, criteria: Sequence[str]):
        self.criteria = tuple(criteria)
        self._signs = np.array([SIGNS[name] for name in criteria], dtype=float)
        self._values = np.empty((0, len(criteria)))
        self._keys: list[Hashable] = []

    def add(self, key: Hashable, plan: Mapping[str, object]) -> None:
        """Takes a plan in unless one of the front is better, and takes out what it is better than. Equal ones
        are all of the front."""
        values = self._signs * [float(str(plan[name])) for name in self.criteria]
        if _better(self._values, values).any():
            return
        stays = ~_better(values, self._values)
        self._values = np.vstack([self._values[stays], values])
        self._keys = [key for key, stay in zip(self._keys, stays, strict=True) if stay] + [key]

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys

    @property
    def keys(self) -> frozenset[Hashable]:
        return frozenset(self._keys)


def _better(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Row by row: whether `some` are nowhere worse (greater) than `others`, and somewhere less."""
    nowhere_worse = (some <= others).all(axis=1)
    return np.asarray(nowhere_worse & (some < others).any(axis=1))
