"""Errors of sources that were left out whole -> how much what is unknown widens a band.

A stack is known while another source ran it, a kind of runs while another source ran models of the kind,
dense or with experts, by the same target on GPUs of the same `arch`, and one of them with the same fitted
efficiency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp

from benchmarks.accuracy.fit_by_descent import Floats
from benchmarks.accuracy.setups.setup import Setup
from parc.compiler.familiarity import WIDTHS, Known, spread

#: The share of runs that a band holds.
HELD = 0.8
Key = tuple[object, ...]


@dataclass(frozen=True)
class Unseen:
    """Runs of one source that was left out: what is known without it of each, and its errors as
    log(predicted / measured)."""

    known: tuple[Known, ...]
    errors: Floats

    @property
    def told(self) -> Iterable[tuple[Known, float, float]]:
        """Knowledge of each run, the size of its error, and its weight: a source weighs 1."""
        for known, error in zip(self.known, self.errors, strict=True):
            yield known, abs(float(error)), 1.0 / len(self.known)


def kind_of(setup: Setup) -> tuple[str, float]:
    """Key of GPUs whose products reach an equal share of their peak, by one fit."""
    gpu = setup.asked.cluster.gpu
    return gpu.arch, gpu.matmul_efficiency


def ran_as(setup: Setup) -> Key:
    """Key of runs of one kind of models by one target on GPUs of one `arch`."""
    return setup.asked.target, setup.asked.cluster.gpu.arch, setup.case.model.moe


def keys_of(setups: Iterable[Setup]) -> set[Key]:
    """Keys of the GPUs of runs, and of their kinds, by which runs of others are known."""
    return {key for each in setups for key in (kind_of(each), ran_as(each))}


def known_kind(setup: Setup, others: set[Key]) -> bool:
    return kind_of(setup) in others and ran_as(setup) in others


def widths(found: Iterable[Unseen]) -> dict[str, float]:
    """Half-widths that add up so that HELD of the runs lie within them: the least of the pinball loss, every
    source weighing the same. What no run tells of keeps the width in use."""
    told = [each for source in found for each in source.told]
    seen = {name: any(name in known.widths for known, _, _ in told) for name in WIDTHS}
    solver = pywraplp.Solver.CreateSolver("GLOP")
    free = {name: solver.NumVar(0.0, 10.0, name) for name, some in seen.items() if some}
    losses = [_loss(solver, free, each) for each in told]
    solver.Minimize(solver.Sum(losses))
    if told and solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise ArithmeticError("no least pinball loss was found")
    return {name: free[name].solution_value() if name in free else WIDTHS[name] for name in WIDTHS}


def _loss(
    solver: pywraplp.Solver,
    free: Mapping[str, pywraplp.Variable],
    told: tuple[Known, float, float],
) -> pywraplp.LinearExpr:
    """The pinball loss of one run: an error beyond its half-width costs HELD, one within it the rest."""
    known, size, weight = told
    beyond, within = (solver.NumVar(0.0, solver.infinity(), "") for _ in range(2))
    width = solver.Sum([free[name] for name in known.widths])
    solver.Add(width + beyond - within == size)
    return weight * (HELD * beyond + (1 - HELD) * within)


def nested(found: Mapping[str, Unseen]) -> dict[str, Floats]:
    """The spread of every run, from sources other than its own."""
    result = {}
    for name, of_it in found.items():
        others = widths(each for other, each in found.items() if other != name)
        result[name] = np.array([spread(known, others) for known in of_it.known])
    return result
