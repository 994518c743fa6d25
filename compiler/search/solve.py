"""The solver: one CP-SAT model per target, its optimum, and the smallest set of conditions that clash when
there is none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...dsl.job import Constraint
from ..algebra import Bounded, constant
from ..memory.peak import host_memory, peak_memory
from ..time.step import step_time
from ..variables import BRANCHING, DERIVED, ORDER
from .cp_sat import run
from .cp_sat_algebra import CpSatAlgebra
from .goal_constraints import Conditions, Totals
from .space import Space
from .sweep import capacity_kib, host_capacity_kib, longest_step_ns, objectives, slip

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Seconds after which the search of a space stops without proof.
LIMIT_SECONDS = 600.0


@dataclass(frozen=True)
class Solution:
    """The best layout with its proof; `status` is CP-SAT's, `bound` what no layout can beat.

    OPTIMAL when all was proven. A search that ended early for time or memory is FEASIBLE when it had found
    something, else UNKNOWN, and then has no layout.
    """

    layout: dict[str, int]
    status: str
    value: float
    bound: float | None
    seconds: float

    @property
    def proven(self) -> bool:
        return self.status == "OPTIMAL"


@dataclass(frozen=True)
class Clash:
    """Why there is no layout: conditions of the job that cannot hold together,
    with or without the memory of the hardware."""

    constraints: tuple[Constraint, ...]
    memory: bool


class Search:
    """A model of one space with its totals; conditions are switched by assumption literals only when
    explaining a clash."""

    def __init__(self, space: Space, explain: bool = False):
        from ortools.sat.python import cp_model

        self.began = time.perf_counter()
        self.space = space
        self.model = cp_model.CpModel()
        self.solver = CpSatAlgebra(space, self.model)
        step_ns, bubble_ns = (constant(value) for value in step_time(self.solver))
        self.totals = Totals(
            self._within(step_ns, 1),
            self._within(bubble_ns, 0),
            constant(peak_memory(self.solver)),
        )
        self.conditions = Conditions(self.solver, self.totals)
        self.switches: dict[int, int | Constraint | None] = {}
        self._explain = explain
        self._hold(_at_most(self.totals.memory_kib, capacity_kib(space.case)), None)
        self._hold(
            _at_most(constant(host_memory(self.solver)), host_capacity_kib(space.case)), None
        )
        for constraint in space.case.job.goal.constraints:
            self._post(constraint)

    def _within(self, total: Bounded, least: int) -> Bounded:
        """Nanoseconds as a variable of at most the longest step, so that no product of it overflows."""
        longest = longest_step_ns(self.space.case)
        variable = self.model.new_int_var(least, longest, "")
        self.model.add(variable == total.expression)
        return Bounded(variable, least, longest)

    def _post(self, constraint: Constraint) -> None:
        if constraint.kind == "prefer":
            return
        met = self.conditions.literal(constraint)
        wanted = met if constraint.kind == "require" else 1 - met
        self._hold([(wanted, 1, 1)], constraint)

    def _hold(self, limits: list[tuple[Bounded, int, int]], owner: Constraint | None) -> None:
        """Keep expressions within limits, under a switch when clashes are to be explained."""
        for bounded, low, high in limits:
            posted = self.model.add_linear_constraint(bounded.expression, low, high)
            if self._explain:
                switch = self.model.new_bool_var("")
                posted.only_enforce_if(switch)
                self.model.add_assumption(switch)
                self.switches[switch.index] = owner

    def left_seconds(self) -> float:
        return max(0.0, LIMIT_SECONDS - (time.perf_counter() - self.began))

    def fix(self, expression: Bounded, low: int, high: int) -> None:
        self.model.add_linear_constraint(expression.expression, low, high)


def _at_most(value: Bounded, limit: int) -> list[tuple[Bounded, int, int]]:
    return [(value, min(value.low, limit), limit)]


def _cp_solver(search: Search) -> cp_model.CpSolver:
    """One worker and a fixed order of decisions. No presolve and no inprocessing: each costs many times
    the search itself on tables this small. No core-guided search: of the tie-break it may never end.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.search_branching = cp_model.FIXED_SEARCH
    solver.parameters.cp_model_presolve = False
    solver.parameters.use_sat_inprocessing = False
    solver.parameters.linearization_level = 0
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.max_time_in_seconds = search.left_seconds()
    return solver


def solve(space: Space, reached: int | None = None) -> Solution | None:
    """The best layout of a space, or None when no layout meets the hard conditions.
    A space without layouts has none.

    `reached` is what some layout is thought to make of the first objective: the search then has to beat
    or meet it. Where nothing does, it starts again from nothing.
    """
    if not space.size:
        return None
    found = None if reached is None else optimum(Search(space), reached)
    return found or optimum(Search(space))


def optimum(search: Search, reached: int | None = None) -> Solution | None:
    """The same for a model that stands already; the model is used up."""
    _branch(search)
    phases = _phases(search)
    if reached is not None:
        search.fix(phases[0][0], phases[0][0].low, reached)
    best: dict[str, int] = {}
    first: Solution | None = None
    proven = False
    for expression, yields in phases:
        solver, status = _minimise(search, expression, best)
        if status == "INFEASIBLE" and not best:
            return None
        found = _found(search, solver, status)
        first, best = first or found, found.layout or best
        proven = found.proven
        if not proven:
            break
        value = round(found.value)
        search.fix(expression, expression.low, value + (slip(value) if yields else 0))
    assert first is not None
    status = "OPTIMAL" if proven else "FEASIBLE" if best else "UNKNOWN"
    seconds = time.perf_counter() - search.began
    return replace(first, layout=best, status=status, seconds=seconds)


def _found(search: Search, solver: cp_model.CpSolver, status: str) -> Solution:
    """What one phase makes of its expression; nothing when it ended before it found a layout."""
    if status == "UNKNOWN":
        return Solution({}, status, 0.0, None, 0.0)
    if status not in ("OPTIMAL", "FEASIBLE"):
        case = search.space.case
        raise RuntimeError(f"CP-SAT ended {status} on {case.job.name} for {case.target.name}")
    layout = {name: _value(solver, search.solver, name) for name in (*ORDER, *DERIVED)}
    return Solution(
        layout, status, float(round(solver.objective_value)), solver.best_objective_bound, 0.0
    )


def _branch(search: Search) -> None:
    """Decide the variables of the branching in their order, smallest value first."""
    from ortools.sat.python import cp_model

    live = [name for name in BRANCHING if len(search.solver.values[name]) > 1]
    variables = [search.solver.variables[name] for name in live]
    search.model.add_decision_strategy(variables, cp_model.CHOOSE_FIRST, cp_model.SELECT_MIN_VALUE)


def _phases(search: Search) -> list[tuple[Bounded, bool]]:
    """Expressions to minimise in turn, and whether each yields to the next: objectives, preferences,
    tie-breaks."""
    goal = search.space.case.job.goal
    wanted = [search.conditions.objective(objective) for objective in objectives(search.space.case)]
    preferred = [
        search.conditions.literal(each) for each in goal.constraints if each.kind == "prefer"
    ]
    phases = [(expression, False) for expression in wanted]
    if preferred:
        unmet = sum((1 - literal for literal in preferred), constant(0))
        phases = [(wanted[0], True), (unmet, False), *phases]
    return [*phases, (_rank(search), False)]


def _rank(search: Search) -> Bounded:
    """A number that orders layouts by their variables, the first of ORDER weighing most."""
    total, weight = constant(0), 1
    for name in reversed(ORDER):
        values = search.solver.values[name]
        if len(values) > 1:
            columns = {name: np.array(values, dtype=np.int64)}
            index = search.solver.tabulate(f"{name} rank", (name,), columns, np.arange(len(values)))
            total = total + index * weight
            weight *= len(values)
    return total


def _minimise(
    search: Search, expression: Bounded, hint: Mapping[str, int] | None
) -> tuple[cp_model.CpSolver, str]:
    search.model.clear_hints()  # type: ignore[no-untyped-call]
    for name, value in (hint or {}).items():
        search.model.add_hint(search.solver.variables[name], value)
    search.model.minimize(expression.expression)
    solver = _cp_solver(search)
    return solver, solver.status_name(run(solver, search.model))


def _value(solver: cp_model.CpSolver, algebra: CpSatAlgebra, name: str) -> int:
    values = algebra.values[name]
    return values[0] if len(values) == 1 else int(solver.value(algebra.variables[name]))


def clash(space: Space) -> Clash:
    """The smallest set of conditions under which no layout is left: solved without an objective,
    then thinned one by one."""
    constraints = [each for each in space.case.job.goal.constraints if each.kind != "prefer"]
    core: list[Constraint | None] = [None, *constraints]
    search = Search(space, explain=True)
    solver = _cp_solver(search)
    if solver.status_name(run(solver, search.model)) == "INFEASIBLE":
        named = {
            search.switches.get(index)
            for index in solver.sufficient_assumptions_for_infeasibility()
        }
        core = [owner for owner in core if owner in named] or core
    for owner in list(core):
        if not _possible(search, [other for other in core if other is not owner]):
            core.remove(owner)
    return Clash(tuple(owner for owner in core if owner is not None), None in core)


def _possible(search: Search, owners: list[Constraint | None]) -> bool:
    """Whether a layout may meet the given conditions alone: no proof that none does."""
    search.model.clear_assumptions()
    for index, owner in search.switches.items():
        if owner in owners:
            search.model.add_assumption(search.model.get_bool_var_from_proto_index(index))
    solver = _cp_solver(search)
    return bool(solver.status_name(run(solver, search.model)) != "INFEASIBLE")
