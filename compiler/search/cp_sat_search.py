"""A space -> its optimum as CP-SAT proves it, objectives minimised in turn; an infeasible core where no
layout satisfies the constraints."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...dsl.job import Constraint
from ..algebra import Bounded, constant
from ..case import LIKELY_TO_FIT
from ..memory.peak import host_memory, peak_memory
from ..time.step import step_time
from ..variables import BRANCHING, DERIVED, ORDER, SEARCHED
from . import cp_sat_library
from .bounds import narrowed
from .cp_sat_algebra import CpSatAlgebra
from .cp_sat_run import Run, Steps, finish, run
from .goal_constraints import FARTHEST, GoalConstraints, Totals, longest_step_ns
from .simplicity import CROWDED, PARTS, UNMET
from .space import Space
from .sweep import (
    Incumbent,
    capacity_kib,
    host_capacity_kib,
    objectives,
    slack,
)

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Wall time after which the search of a space stops without proof.
LIMIT_SECONDS = 600.0


@dataclass(frozen=True)
class Solution:
    """The incumbent of a search with its proof: `value` and `bound` are the first objective of `best` and
    the solver's lower bound on it, both as the integer that is minimised. `layout` is what is chosen among
    those as good as `best`.

    `status` is OPTIMAL where every objective was proven. A search that ran out of time or memory is FEASIBLE
    with an incumbent, UNKNOWN without one; `layout` is then empty.
    """

    layout: dict[str, int]
    status: str
    value: float
    bound: float | None
    seconds: float
    best: dict[str, int] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        return self.status == "OPTIMAL"


@dataclass(frozen=True)
class InfeasibleCore:
    """Constraints of a job that cannot hold together; `memory` is true where the limits on GPU and host
    memory are part of the core."""

    constraints: tuple[Constraint, ...]
    memory: bool


class Search:
    """The CP-SAT model of one space: totals, limits on memory and the hard constraints of the goal. With
    `explain`, an assumption literal enforces each limit and constraint, so that a core can be extracted.
    """

    def __init__(self, space: Space, explain: bool = False):
        cp_sat_library.load()
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
        self.goal = GoalConstraints(self.solver, self.totals)
        self.owners: dict[int, int | Constraint | None] = {}
        self._explain = explain
        self._enforce(_at_most(self.totals.memory_kib, capacity_kib(space.case)), None)
        self._enforce(
            _at_most(constant(host_memory(self.solver)), host_capacity_kib(space.case)), None
        )
        for constraint in space.case.hard:
            self._post(constraint)

    def _within(self, total: Bounded, least: int) -> Bounded:
        """A time in nanoseconds as one variable, at most the longest step: its products cannot overflow."""
        longest = longest_step_ns(self.space.case)
        variable = self.model.new_int_var(least, longest, "")
        self.model.add(variable == total.expression)
        return Bounded(variable, least, longest)

    def _post(self, constraint: Constraint) -> None:
        met = self.goal.literal(constraint)
        owner = None if constraint is LIKELY_TO_FIT else constraint
        self._enforce([(met if constraint.kind == "require" else 1 - met, 1, 1)], owner)

    def _enforce(self, limits: list[tuple[Bounded, int, int]], owner: Constraint | None) -> None:
        """Keep expressions within limits; with `explain` only under an assumption literal, which stands for
        `owner`: a constraint, or None for a limit on memory."""
        for bounded, low, high in limits:
            posted = self.model.add_linear_constraint(bounded.expression, low, high)
            if self._explain:
                literal = self.model.new_bool_var("")
                posted.only_enforce_if(literal)
                self.model.add_assumption(literal)
                self.owners[literal.index] = owner

    def remaining_seconds(self) -> float:
        return max(0.0, LIMIT_SECONDS - (time.perf_counter() - self.began))

    def bound(self, expression: Bounded, low: int, high: int) -> None:
        self.model.add_linear_constraint(expression.expression, low, high)


def _at_most(value: Bounded, limit: int) -> list[tuple[Bounded, int, int]]:
    return [(value, min(value.low, limit), limit)]


def _cp_solver(search: Search) -> cp_model.CpSolver:
    """A solver with fixed branching. Presolve and inprocessing are off: on tables this small each takes many
    times as long as the search. Core-guided search is off: on the tie-break it may not terminate.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.search_branching = cp_model.FIXED_SEARCH
    solver.parameters.cp_model_presolve = False
    solver.parameters.use_sat_inprocessing = False
    solver.parameters.linearization_level = 0
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.max_time_in_seconds = search.remaining_seconds()
    return solver


def solve(space: Space, incumbent: Incumbent | None = None) -> Solution | None:
    """The best layout of a space, or None when no layout satisfies the hard constraints."""
    return finish(solving(space, incumbent))


def solving(space: Space, incumbent: Incumbent | None = None) -> Steps[Solution | None]:
    """The steps of `solve`.

    An incumbent bounds the search, to the blocks that may reach it, and says where to begin; where its chosen
    layout is proven optimal, ties are not broken again. Where no layout reaches its score, the search runs
    again without that bound.
    """
    if not space.rows:
        return None
    found = None
    if incumbent is not None:
        near = narrowed(space, incumbent.score + slack(space.case, incumbent.score))
        found = (yield from optimum(Search(near), incumbent)) if near.rows else None
    return found or (yield from optimum(Search(space)))


def optimum(search: Search, incumbent: Incumbent | None = None) -> Steps[Solution | None]:
    """The steps to the best layout of a built model, or None; each phase adds constraints, so a model serves
    one call."""
    _set_branching(search)
    phases = _phases(search)
    hints: list[Mapping[str, int]] = []
    if incumbent is not None:
        most = incumbent.score + slack(search.space.case, incumbent.score)
        search.bound(phases[0], phases[0].low, most)
        hints = [incumbent.best, incumbent.chosen]
    best: dict[str, int] = {}
    first: Solution | None = None
    proven = False
    while phases:
        expression = phases.pop(0)
        solver, status = yield from _minimise(search, expression, hints.pop(0) if hints else best)
        if status == "INFEASIBLE" and not best:
            return None
        found = _found(search, solver, status)
        proven = found.proven
        best = found.layout or best
        if not proven:
            first = first or found
            break
        value, spare = round(found.value), 0
        if first is None:
            first, spare = found, slack(search.space.case, value)
            phases = _simplest(search, expression, value, spare) + phases
        search.bound(expression, expression.low, value + spare)
        if len(phases) == 1 and incumbent is not None and _same(incumbent.chosen, best):
            break  # the sweep has ordered those that are equal so far
    assert first is not None
    status = "OPTIMAL" if proven else "FEASIBLE" if best else "UNKNOWN"
    seconds = time.perf_counter() - search.began
    return replace(first, layout=best, status=status, seconds=seconds, best=first.layout)


def _same(layout: Mapping[str, int], found: Mapping[str, int]) -> bool:
    return bool(found) and all(layout[name] == found[name] for name in ORDER)


def _found(search: Search, solver: cp_model.CpSolver, status: str) -> Solution:
    """The incumbent of one phase and its bound; an empty layout when the phase ended before it found one.
    Raises RuntimeError when CP-SAT rejects the model, or proves it infeasible after a feasible phase.
    """
    if status == "UNKNOWN":
        return Solution({}, status, 0.0, None, 0.0)
    if status not in ("OPTIMAL", "FEASIBLE"):
        case = search.space.case
        raise RuntimeError(f"CP-SAT ended {status} on {case.job.name} for {case.target.name}")
    layout = {name: _value(solver, search.solver, name) for name in (*SEARCHED, *DERIVED)}
    return Solution(
        layout, status, float(round(solver.objective_value)), solver.best_objective_bound, 0.0
    )


def _set_branching(search: Search) -> None:
    """Branch on the variables of BRANCHING in their order, smallest value first."""
    from ortools.sat.python import cp_model

    live = [name for name in BRANCHING if len(search.solver.values[name]) > 1]
    variables = [search.solver.variables[name] for name in live]
    search.model.add_decision_strategy(variables, cp_model.CHOOSE_FIRST, cp_model.SELECT_MIN_VALUE)


def _phases(search: Search) -> list[Bounded]:
    """Expressions to minimise in turn: the objectives, then the tie-break. Once the best value of the first
    is known, `_simplest` comes after it."""
    minimands = [search.goal.objective(objective) for objective in objectives(search.space.case)]
    return [*minimands, _tie_break(search)]


def _simplest(search: Search, objective: Bounded, best: int, spare: int) -> list[Bounded]:
    """Unmet preferences and complexity, then the objective, of which `best` is the least and `spare` may be
    given up: as one expression where it cannot overflow."""
    effort = _effort(search)
    if effort.high * (spare + 1) < FARTHEST:
        return [effort * (spare + 1) + (objective - best)]
    return [effort, objective]


def _effort(search: Search) -> Bounded:
    """How complicated a layout is, also by a lack of headroom, and before that how many preferences it leaves
    unmet."""
    total = constant(0)
    for of, effort in PARTS:
        columns = search.solver.combinations(of)
        total = total + search.solver.tabulate(f"{of[0]} effort", of, columns, effort(columns))
    case = search.space.case
    if case.headroom is not None:
        total = total + CROWDED * (1 - search.goal.literal(case.headroom))
    unmet = (1 - search.goal.literal(each) for each in case.preferred)
    return sum((UNMET * each for each in unmet), total)


def _tie_break(search: Search) -> Bounded:
    """A number that orders layouts lexicographically by their variables, in ORDER."""
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
    search: Search, expression: Bounded, hint: Mapping[str, int]
) -> Steps[tuple[cp_model.CpSolver, str]]:
    search.model.clear_hints()  # type: ignore[no-untyped-call]
    for name, value in hint.items():
        search.model.add_hint(search.solver.variables[name], value)
    search.model.minimize(expression.expression)
    solver = _cp_solver(search)
    return solver, solver.status_name((yield Run(solver, search.model)))


def _value(solver: cp_model.CpSolver, algebra: CpSatAlgebra, name: str) -> int:
    values = algebra.values[name]
    return values[0] if len(values) == 1 else int(solver.value(algebra.variables[name]))


def infeasible_core(space: Space) -> InfeasibleCore:
    """An irreducible infeasible core: the solver's core for the model without an objective, less every
    member without which infeasibility is still proven (deletion filter)."""
    constraints = [each for each in space.case.hard if each is not LIKELY_TO_FIT]
    core: list[Constraint | None] = [None, *constraints]
    search = Search(space, explain=True)
    solver = _cp_solver(search)
    if solver.status_name(run(solver, search.model)) == "INFEASIBLE":
        named = {
            search.owners.get(index) for index in solver.sufficient_assumptions_for_infeasibility()
        }
        core = [owner for owner in core if owner in named] or core
    for owner in list(core):
        if not _satisfiable(search, [other for other in core if other is not owner]):
            core.remove(owner)
    return InfeasibleCore(tuple(owner for owner in core if owner is not None), None in core)


def _satisfiable(search: Search, owners: list[Constraint | None]) -> bool:
    """Whether the constraints of these owners alone are not proven infeasible."""
    search.model.clear_assumptions()
    for index, owner in search.owners.items():
        if owner in owners:
            search.model.add_assumption(search.model.get_bool_var_from_proto_index(index))
    solver = _cp_solver(search)
    return bool(solver.status_name(run(solver, search.model)) != "INFEASIBLE")
