"""Errors of sources that were left out whole -> the spread of a band, by how familiar its stack and GPU are.

A stack is known while another source ran it, a GPU while another source ran one with the same fitted
efficiency. Runs on a GPU that nobody ran are those of every source with the efficiencies of its GPU where
kernels alone put them (`Parameter.prior`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.fit_by_descent import Floats, Parameter, Point
from benchmarks.accuracy.setups.setup import Setup
from parc.compiler.familiarity import FAMILIARITIES
from parc.compiler.risk import FOUR_OF_FIVE

#: Whether the stack is known, and whether the GPU is.
Known = tuple[bool, bool]
#: The share of runs that a band holds, the mean over sources.
HELD = 0.8


@dataclass(frozen=True)
class Unseen:
    """Runs of one source that was left out: what is known without it of each, and its errors as
    log(predicted / measured), also with nothing fitted to its GPU."""

    known: tuple[Known, ...]
    errors: Floats
    strange: Floats

    def of(self, known: Known) -> Floats:
        """Errors of runs that are known so well; on an unknown GPU those with nothing fitted to it."""
        stack, gpu = known
        errors = self.errors if gpu else self.strange
        chosen = [each == known if gpu else each[0] == stack for each in self.known]
        return np.asarray(errors[np.array(chosen, dtype=bool)])


def kind_of(setup: Setup) -> tuple[str, float]:
    """Key of GPUs whose products reach an equal share of their peak, by one fit."""
    gpu = setup.asked.cluster.gpu
    return gpu.arch, gpu.matmul_efficiency


def strange_point(parameters: Sequence[Parameter], priors: Point, point: Point) -> Point:
    """`point` with every parameter of GPUs at its prior; gaps are the host's."""
    return tuple(
        value if it.field == "gap_seconds" else prior
        for it, prior, value in zip(parameters, priors, point, strict=True)
    )


def spreads(found: Iterable[Unseen]) -> dict[Known, float]:
    """The spread of each familiarity, as it is used where no source tells of it."""
    sources = tuple(found)
    result = {}
    for known, used in FAMILIARITIES.items():
        told = [errors for each in sources if len(errors := each.of(known))]
        result[known] = reach(told) / FOUR_OF_FIVE if told else used.step_spread
    return result


def reach(told: Sequence[Floats]) -> float:
    """The size of error that HELD of the runs stay within, the mean over sources."""
    sizes = [np.sort(np.abs(errors)) for errors in told]
    ends = np.sort(np.concatenate(sizes))
    held = np.mean([np.searchsorted(each, ends, "right") / len(each) for each in sizes], axis=0)
    return float(ends[np.argmax(held >= HELD - 1e-9)])


def nested(found: Mapping[str, Unseen]) -> dict[str, Floats]:
    """The spread of every run, from sources other than its own."""
    result = {}
    for name, of_it in found.items():
        others = spreads(each for other, each in found.items() if other != name)
        result[name] = np.array([others[known] for known in of_it.known])
    return result
