"""A job and a target -> its `Plan`, by sweep and proof."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...dsl.diagnostics import JobError
from ...dsl.job import Job
from ...dsl.open_settings import settled
from ..case import Case
from ..plan import Estimate, Plan, Proof
from ..pricing.estimate import estimate_layout
from ..pricing.quantities import value_of
from ..stages import refuse_stages
from ..target import Target
from ..variables import ORDER, SEARCHED
from . import measured_layouts
from .best_first import explored, with_reasons
from .cp_sat_run import Steps, side_by_side
from .cp_sat_search import Solution, solving
from .doubt import doubt
from .estimating import refuse
from .explain import binding, no_layout, too_large
from .finalists import judged
from .progress import Progress
from .settled_plans import decided
from .space import Space
from .sweep import PER_STEP, Swept, objectives, runnable

#: Next-best layouts in a plan.
RUNNERS_UP = 3


def plan(job: Job, target: Target) -> Plan:
    """The best layout of a job on a target, with its proof.

    Raises JobError when the target cannot express the job, when no layout satisfies the constraints, and when
    the layouts do not fit into the memory of the process.
    """
    (outcome,) = plan_all(job, [target])
    if isinstance(outcome, JobError):
        raise outcome
    return outcome


def plan_all(
    job: Job, targets: Iterable[Target], progress: Progress | None = None
) -> list[Plan | JobError]:
    """The plan of each target, or why it has none. While the solver of one runs, the next is swept. Settings
    that the job leaves open take the values of the best plan (settled_plans.py).

    Raises JobError for a job of several stages."""
    refuse_stages(job)
    watched = progress or Progress(job.name)
    asked = [(target, settled(job, target.name)) for target in targets]
    found = iter(
        side_by_side(
            _outcome(each, target, watched) for target, choices in asked for _, each in choices
        )
    )
    outcomes = [
        decided(target, [(said, next(found)) for said, _ in choices]) for target, choices in asked
    ]
    watched.keeps_only(outcome.job for outcome in outcomes if isinstance(outcome, Plan))
    return outcomes


def _outcome(job: Job, target: Target, progress: Progress) -> Steps[Plan | JobError]:
    try:
        progress.says(target.name, "searching")
        return (yield from _plan(job, target, progress))
    except MemoryError:
        return JobError([too_large(job, target)])
    except JobError as error:
        return error
    finally:
        progress.ends(target.name)


def _plan(job: Job, target: Target, progress: Progress) -> Steps[Plan]:
    refuse(job, target)
    case = Case(job, target)
    swept, solution = yield from _solved(Space(case), progress)
    if solution is None:
        raise JobError([no_layout(with_reasons(swept, progress))])
    progress.chose_from(swept)
    ran, simulated = measured_layouts.chosen(swept), None
    if ran is None:
        taken, simulated = judged(swept, swept.placed(solution.layout) or _decisions(solution))
        chosen, estimate = taken.decided, taken.estimate
    else:
        chosen, estimate = ran, estimate_layout(case, ran)
    ranked = [swept.decisions(int(row)) for row in swept.by_objective[: RUNNERS_UP + 1]]
    others = [row for row in ranked if not _same(row, chosen)]
    fastest = None if _same(ranked[0], chosen) else ranked[0]
    measured = measured_layouts.outcome(case, chosen, fastest or chosen)
    own_ran = measured is not None and measured.layouts > 0
    best = estimate_layout(case, fastest) if fastest else None
    return Plan(
        job=job,
        target=target.name,
        estimate=estimate,
        proof=_proof(swept, solution),
        doubt=doubt(swept, chosen),
        best=best if best and (own_ran or _forgone(case, estimate, best)) else None,
        runners_up=tuple(estimate_layout(case, row) for row in others[:RUNNERS_UP]),
        binding=binding(swept, int(swept.by_objective[0])),
        measured=measured,
        simulated=simulated,
    )


def _same(layout: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether two layouts differ in nothing but their placements."""
    return all(layout[name] == other[name] for name in ORDER)


def _decisions(solution: Solution) -> dict[str, int]:
    return {name: solution.layout[name] for name in SEARCHED}


def _forgone(case: Case, chosen: Estimate, best: Estimate) -> bool:
    """Whether the best prediction is better than the chosen one, where the goal is the time of a step."""
    timed = objectives(case)[0].quantity in PER_STEP and chosen.gpus == best.gpus
    return not timed or best.step_seconds < chosen.step_seconds


def _solved(space: Space, progress: Progress) -> Steps[tuple[Swept, Solution | None]]:
    swept = explored(space, progress)
    progress.knows(swept)
    if not runnable(space.case, swept.prices).any():
        return swept, None
    progress.says(space.case.target.name, "proving")
    solution = yield from solving(swept.space, swept.incumbent)
    return swept, _decided(swept, solution)


def _decided(swept: Swept, solution: Solution | None) -> Solution | None:
    """The solver's solution; the sweep's optimum, at least as good, where the solver ended without proof."""
    if solution is None or solution.proven:
        return solution
    known = swept.incumbent
    if known is None or swept.best is None:
        return None
    best = swept.layout(int(swept.by_objective[0]))
    return replace(
        solution, layout=swept.best, best=best, status="FEASIBLE", value=float(known.score)
    )


def _proof(swept: Swept, solution: Solution) -> Proof:
    """The proof in the unit of the first objective: of the best layout, which the chosen one may forgo; its
    bound is off by the solver's relative gap."""
    case, explored = swept.space.case, swept.explored
    objective = objectives(case)[0]
    value = value_of(case, objective.quantity, solution.best)
    gap = _gap(solution)
    return Proof(
        status=solution.status,
        objective=f"{objective.direction} {objective.quantity}",
        value=value,
        bound=gap and (value / gap if objective.direction == "maximize" else value * gap),
        layouts=explored.priced if explored else swept.space.size,
        ruled_out=explored is not None,
        seconds=solution.seconds,
    )


def _gap(solution: Solution) -> float | None:
    """The solver's bound over its value; None where either is unknown or 0."""
    if solution.proven and not solution.value:
        return 1.0
    return solution.bound / solution.value if solution.bound and solution.value else None
