"""Searches that take turns: one is prepared while the solver of another runs."""

from __future__ import annotations

import pytest
from ortools.sat.python import cp_model

import parc
import parc.compiler.search.cp_sat_run
from parc import compiler
from parc.backends import BACKENDS
from parc.compiler.plan import Plan
from parc.compiler.search.cp_sat_run import Run, Steps, side_by_side
from tests.compiler.search.test_limits import creeping

EXAMPLE = "examples/llama3_8b.par"


def endless() -> tuple[cp_model.CpSolver, cp_model.CpModel]:
    """A run that does not end in the time of a test unless it is stopped."""
    solver = cp_model.CpSolver()
    solver.parameters.search_branching = cp_model.FIXED_SEARCH
    solver.parameters.cp_model_presolve = False
    solver.parameters.linearization_level = 0
    solver.parameters.max_time_in_seconds = 60
    return solver, creeping()


def test_plans_are_those_of_each_target_alone() -> None:
    job = parc.load(EXAMPLE)
    targets = [BACKENDS[spec.name].target for spec in job.targets]
    together = compiler.plan_all(job, targets)
    assert len(together) > 1
    for target, found in zip(targets, together, strict=True):
        alone = compiler.plan(job, target)
        assert isinstance(found, Plan)
        same = {"proof": alone.proof.model_copy(update={"seconds": found.proof.seconds})}
        assert found == alone.model_copy(update=same)


def test_a_search_is_prepared_while_another_runs() -> None:
    runs: list[Run] = []

    def waits() -> Steps[bool]:
        runs.append(Run(*endless()))
        return (yield runs[0]) == cp_model.UNKNOWN

    def does_not() -> Steps[bool]:
        running = not runs[0].search.done()
        runs[0].stop()
        return running
        yield

    assert side_by_side([waits(), does_not()]) == [True, True]


def test_what_one_raises_ends_the_others() -> None:
    runs: list[Run] = []

    def waits() -> Steps[None]:
        runs.append(Run(*endless()))
        yield runs[0]

    def fails() -> Steps[None]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        side_by_side([waits(), fails()])
    assert runs[0].search.done()


def test_what_waits_bounds_what_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parc.compiler.search.cp_sat_run, "STANDBY_BYTES", 0)
    held: list[bytearray] = []

    def holds() -> Steps[None]:
        solver, model = endless()
        solver.parameters.max_time_in_seconds = 1
        run = Run(solver, model)
        held.append(bytearray(2**26))
        yield run
        held.clear()

    def begins() -> Steps[bool]:
        return not held
        yield

    assert side_by_side([holds(), begins()])[1] is True
