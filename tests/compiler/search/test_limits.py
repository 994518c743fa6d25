"""A search that may not end: bounds that once closed in by a nanosecond at a time, too little time and too
little memory."""

from __future__ import annotations

import pytest
from ortools.sat.python import cp_model

import parc.compiler.search.cp_sat_run
import parc.compiler.search.cp_sat_search
from parc.api import Planned
from parc.compiler import plan
from parc.compiler.plan import Plan
from parc.compiler.search import best_first
from parc.compiler.search.cp_sat_run import run
from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.job import Job
from parc.printing.plan_text import plans_text
from tests.support.solver_and_sweep import MOE, Parts, answers, job_of, target_of

MIB = 2**20
GOAL = "maximize mfu\nrequire pp >= 2"
TIGHT = f"{GOAL}\nrequire tp >= 2\nrequire step_time <= 1 ms"
#: One micro-batch per step lets the slowest rank and the bubble stand against each other, one for one.
SINGLE: Parts = {
    "model": {**MOE, "layers": 32, "hidden": 4096, "heads": 64, "kv_heads": 1, "dense_layers": 3},
    "cluster": {"nodes": 512, "gpus_per_node": 4},
    "train": {"seq_len": 4096, "global_batch": 512, "steps": 1000, "attention": "unfused"},
}


def planned(job: Job) -> Plan:
    return plan(job, target_of(job))


def complaint(job: Job) -> Diagnostic:
    with pytest.raises(JobError) as caught:
        planned(job)
    (found,) = caught.value.diagnostics
    return found


def creeping() -> cp_model.CpModel:
    """A contradiction to which bounds creep in steps of one, 2**39 of them."""
    model, half = cp_model.CpModel(), 2**39
    slowest, rest, bubble = (model.new_int_var(0, 2 * half, "") for _ in range(3))
    chunks = model.new_int_var(1, 2, "")
    model.add(slowest + rest >= half)
    model.add_division_equality(bubble, rest, chunks)
    model.add(slowest + bubble <= half - 1)
    model.add_decision_strategy([chunks], cp_model.CHOOSE_FIRST, cp_model.SELECT_MIN_VALUE)
    return model


def test_one_micro_batch_is_proven_without_creeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parc.compiler.search.cp_sat_search, "LIMIT_SECONDS", 240.0)
    found = answers(job_of("maximize mfu\nrequire micro_batch >= 2", **SINGLE))
    assert found.solution is not None and found.solution.proven
    assert found.layout == found.best


def test_a_search_that_fills_the_memory_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parc.compiler.search.cp_sat_run, "MEMORY_BYTES", 64 * MIB)
    solver = cp_model.CpSolver()
    solver.parameters.search_branching = cp_model.FIXED_SEARCH
    solver.parameters.cp_model_presolve = False
    solver.parameters.linearization_level = 0
    solver.parameters.max_time_in_seconds = 60
    assert run(solver, creeping()) == cp_model.UNKNOWN
    assert solver.wall_time < 30


def test_a_search_without_time_leaves_the_best_unproven(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = planned(job_of(GOAL))
    monkeypatch.setattr(parc.compiler.search.cp_sat_search, "LIMIT_SECONDS", 0.0)
    unproven = planned(job_of(GOAL))
    assert (proven.proof.status, unproven.proof.status) == ("OPTIMAL", "FEASIBLE")
    assert unproven.estimate == proven.estimate
    assert unproven.proof.value == proven.proof.value
    assert unproven.proof.bound is None
    text = plans_text(Planned(unproven.job, (unproven,)))
    assert f"best found over {unproven.proof.layouts:,} priced layouts, not proven" in text


def test_a_search_without_memory_leaves_the_best_unproven(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(solver: object, model: object) -> None:
        raise MemoryError("std::bad_alloc")

    proven = planned(job_of(GOAL))
    monkeypatch.setattr(cp_model.CpSolver, "solve", fails)
    unproven = planned(job_of(GOAL))
    assert unproven.proof.status == "FEASIBLE"
    assert unproven.estimate.layout == proven.estimate.layout


def test_a_clash_that_is_not_proven_names_all_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the space is priced whole the solver proves which conditions clash; otherwise bounds do."""
    bounded = complaint(job_of(TIGHT))
    assert bounded.code == "PAR151" and "step_time <= 1 ms" in bounded.message
    monkeypatch.setattr(parc.compiler.search.cp_sat_search, "LIMIT_SECONDS", 0.0)
    assert complaint(job_of(TIGHT)) == bounded
    monkeypatch.setattr(best_first, "WHOLE", 2**20)
    found = complaint(job_of(TIGHT))
    assert found.code == "PAR151"
    said = " ".join([found.message, *(note.message for note in found.notes)])
    assert all(line.removeprefix("require ") in said for line in TIGHT.splitlines()[1:])
    monkeypatch.undo()
    monkeypatch.setattr(best_first, "WHOLE", 2**20)
    assert complaint(job_of(TIGHT)).message == bounded.message


def test_too_many_layouts_for_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(space: object, progress: object) -> None:
        raise MemoryError

    monkeypatch.setattr("parc.compiler.search.planning.explored", fails)
    found = complaint(job_of(GOAL))
    assert found.code == "PAR154"
    assert found.help and "ulimit -v" in found.help and found.span
