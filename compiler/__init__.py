"""`Job` -> `Plan`: the decision space of a target, its cost, the solver's proof,
and the price of any one layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..dsl.diagnostics import JobError
from ..dsl.job import Job
from .case import Case
from .plan import Estimate, Layout, Plan, Proof
from .pricing.estimate import estimate_layout
from .pricing.quantities import value_of
from .search.complete_layout import complete
from .search.explain import binding, no_layout, too_large
from .search.solve import Solution, solve
from .search.space import Space
from .search.stage_placement import place
from .search.sweep import Swept, objectives, possible, sweep
from .target import Predicate, Target
from .variables import ORDER

__all__ = ["Estimate", "Layout", "Plan", "Predicate", "Proof", "Target", "estimate", "plan"]

#: Next-best layouts that a plan names.
RUNNERS_UP = 3


def plan(job: Job, target: Target) -> Plan:
    """The best layout of a job on a target, with its proof.

    Raises JobError when the target cannot express the job, when no layout meets the conditions, and when
    there are more layouts than fit into memory.
    """
    try:
        return _plan(job, target)
    except MemoryError:
        raise JobError([too_large(job, target)]) from None


def _plan(job: Job, target: Target) -> Plan:
    _refuse(job, target)
    case = Case(job, target)
    space = Space(case)
    swept = sweep(space)
    hope = possible(case, swept.prices).any()
    solution = _decided(swept, solve(space, swept.reached)) if hope else None
    if solution is None:
        raise JobError([no_layout(swept)])
    chosen = {name: solution.layout[name] for name in ORDER}
    ranked = [swept.layout(int(row)) for row in swept.order[: RUNNERS_UP + 1]]
    others = [
        row for row in ({name: row[name] for name in ORDER} for row in ranked) if row != chosen
    ]
    return Plan(
        job=job,
        target=target.name,
        estimate=estimate_layout(case, chosen, place(case, chosen)),
        proof=_proof(space, solution),
        runners_up=tuple(estimate_layout(case, row) for row in others[:RUNNERS_UP]),
        binding=binding(swept, int(swept.order[0])),
    )


def _decided(swept: Swept, solution: Solution | None) -> Solution | None:
    """The solver's answer; where it ended without proof the sweep's best, which is at least as good."""
    if solution is None or solution.proven:
        return solution
    if swept.best is None or swept.reached is None:
        return None
    return replace(solution, layout=swept.best, status="FEASIBLE", value=float(swept.reached))


def _proof(space: Space, solution: Solution) -> Proof:
    """The solver's answer in the unit of the first objective; its bound is off by the solver's gap,
    0 when optimal."""
    objective = objectives(space.case)[0]
    value = value_of(space.case, objective.quantity, solution.layout)
    gap = _gap(solution)
    return Proof(
        status=solution.status,
        objective=f"{objective.direction} {objective.quantity}",
        value=value,
        bound=gap and (value / gap if objective.direction == "maximize" else value * gap),
        layouts=space.size,
        seconds=solution.seconds,
    )


def _gap(solution: Solution) -> float | None:
    """The bound as a share of the value; None where the bound says nothing."""
    if solution.proven and not solution.value:
        return 1.0
    return solution.bound / solution.value if solution.bound and solution.value else None


def estimate(job: Job, target: Target, layout: Mapping[str, int]) -> Estimate:
    """The price of one layout given by its variables. Degrees left out are 1; virtual stages, ZeRO stage,
    shards, micro-batch and recomputation left out are what parc would choose; where nothing meets the
    goal's conditions the fastest that fits, or the smallest that does not.

    Raises JobError with every rule of the framework that the layout breaks,
    and for names that are no variable.
    """
    _refuse(job, target)
    case = Case(job, target)
    decided = complete(case, layout)
    return estimate_layout(case, decided, place(case, decided))


def _refuse(job: Job, target: Target) -> None:
    errors = [each for each in target.refuses(job) if each.severity == "error"]
    if errors:
        raise JobError(errors)
