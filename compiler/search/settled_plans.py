"""The plan for each choice of the settings that a job leaves open -> the one to run.

As among layouts, `goal.within` decides: of the choices predicted that close to the best one the preferred
values win, so that what changes numerics or was seldom measured has to gain something. Of a goal that counts
GPUs or nodes the fewest win, and among those the time of a step is compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from ...dsl.diagnostics import JobError, Note
from ...dsl.expression import COUNTED
from ...dsl.open_settings import Word, words_of
from ..case import Case
from ..plan import Estimate, OtherSettings, Plan, Proof
from ..pricing.estimate import decisions, one_row
from ..pricing.quantities import value_of
from ..target import Target
from .sweep import objectives

PROVEN = "OPTIMAL"
Outcome = tuple[Mapping[str, Word], Plan | JobError]


def decided(target: Target, outcomes: Sequence[Outcome]) -> Plan | JobError:
    """The plan of the preferred choice that is about as good as the best one, with all others; the error of
    the preferred choice where none has a layout. `outcomes` are in the order of preference, at least one.
    """
    if len(outcomes) == 1:
        return outcomes[0][1]
    plans = [(said, plan) for said, plan in outcomes if isinstance(plan, Plan)]
    if not plans:
        return _none(outcomes)
    losses = _losses(target, [plan for _, plan in plans])
    within = plans[0][1].job.goal.within
    ranked = sorted(range(len(plans)), key=lambda row: losses[row][0])
    near = (row for row, (chosen, _) in enumerate(losses) if chosen <= within)
    position = next(near, ranked[0])
    said, plan = plans[position]
    others = _others(plan, [plans[row] for row in ranked if row != position])
    refused = [_refused(each, found) for each, found in outcomes if isinstance(found, JobError)]
    best = plans[min(range(len(plans)), key=lambda row: losses[row][1])][1]
    changed = {
        "settings": dict(said),
        "other_settings": (*others, *refused),
        "proof": _proof(best, [plan for _, plan in plans]),
    }
    return plan.model_copy(update=changed)


def _losses(target: Target, plans: Sequence[Plan]) -> list[tuple[float, float]]:
    """By what share the first objective of each plan's layout, and of the best one with its settings, is
    worse than the best of all. Of an objective that counts GPUs or nodes it is the time of a step on the
    fewest, and infinite on more."""
    objective = objectives(Case(plans[0].job, target))[0]
    if objective.quantity in COUNTED:
        reached = _on_fewest(target, objective.quantity, plans)
    else:
        sign = -1.0 if objective.direction == "maximize" else 1.0
        name = objective.quantity
        reached = [
            (sign * _value(target, each, each.estimate, name), sign * each.proof.value)
            for each in plans
        ]
    best = min(min(pair) for pair in reached)
    scale = abs(best) or 1.0
    return [((chosen - best) / scale, (least - best) / scale) for chosen, least in reached]


def _on_fewest(target: Target, counted: str, plans: Sequence[Plan]) -> list[tuple[float, float]]:
    """Seconds of a step of each plan's layout, and of the faster of it and of the best prediction with its
    settings; infinite where the plan takes more GPUs or nodes than another one."""
    fewest = min(int(getattr(each.layout, counted)) for each in plans)
    found: list[tuple[float, float]] = []
    for plan in plans:
        if getattr(plan.layout, counted) > fewest:
            found.append((inf, inf))
            continue
        known = [plan.estimate, *([plan.best] if plan.best else [])]
        times = [_value(target, plan, each, "step_time") for each in known]
        found.append((times[0], min(times)))
    return found


def _value(target: Target, plan: Plan, priced: Estimate, quantity: str) -> float:
    """A quantity of a layout with the plan's settings, as the search has it."""
    case = Case(plan.job, target)
    columns = one_row(case, decisions(case, priced))
    layout = {name: int(column[0]) for name, column in columns.items()}
    return value_of(case, quantity, layout)


def _others(chosen: Plan, plans: Sequence[tuple[Mapping[str, Word], Plan]]) -> list[OtherSettings]:
    """The prices of other choices, each once: what changes nothing on this target is no other choice."""
    found: list[OtherSettings] = []
    for said, plan in plans:
        if all(plan.estimate != known for known in (chosen.estimate, *(o.estimate for o in found))):
            found.append(OtherSettings(settings=dict(said), estimate=plan.estimate))
    return found


def _refused(said: Mapping[str, Word], error: JobError) -> OtherSettings:
    return OtherSettings(settings=dict(said), why=error.diagnostics[0].message)


def _proof(best: Plan, plans: Sequence[Plan]) -> Proof:
    """The proof over the layouts of all choices, solved side by side, with the value of the best."""
    proofs = [plan.proof for plan in plans]
    maximized = best.proof.objective.startswith("maximize")
    bounds = [proof.bound for proof in proofs if proof.bound is not None]
    known = len(bounds) == len(proofs)
    return best.proof.model_copy(
        update={
            "status": next((each.status for each in proofs if each.status != PROVEN), PROVEN),
            "bound": (max(bounds) if maximized else min(bounds)) if known else None,
            "layouts": sum(proof.layouts for proof in proofs),
            "ruled_out": any(proof.ruled_out for proof in proofs),
            "seconds": max(proof.seconds for proof in proofs),
        }
    )


def _none(outcomes: Sequence[Outcome]) -> JobError:
    """The error of the preferred choice, which says what every other one lacks where that differs."""
    errors = [(said, found) for said, found in outcomes if isinstance(found, JobError)]
    first, *rest = errors[0][1].diagnostics
    notes = [
        Note(f"with {words_of(said)}: {error.diagnostics[0].message}")
        for said, error in errors[1:]
        if error.diagnostics[0].message != first.message
    ]
    return JobError([replace(first, notes=(*first.notes, *notes)), *rest])
