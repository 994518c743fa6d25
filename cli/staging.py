"""A job of several stages -> the plans of each, of layouts that load the checkpoint of the stage before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parc.backends import TARGETS
from parc.compiler.codes import UNFOLLOWED
from parc.compiler.plan import Follows, Plan
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.job import Job

from .api import Planned, Shown, plan_targets, stages_of, target_names, with_advice
from .ranking import ranked

if TYPE_CHECKING:
    from parc.backends.following import Need

#: What a condition that parc adds to a stage's goal is called where its text is shown.
ORIGIN = "the stage before"


@dataclass(frozen=True)
class Staged:
    """A job of several stages with the plans of each."""

    name: str
    stages: tuple[Planned, ...]

    @property
    def complete(self) -> bool:
        """Whether each stage has a plan."""
        return all(stage.plans for stage in self.stages)

    def by_target(self) -> dict[str, list[Plan]]:
        """The plans of the targets that have one for each stage, in the order of the stages."""
        found = [{plan.target: plan for plan in stage.plans} for stage in self.stages]
        return {
            name: [plans[name] for plans in found]
            for name in found[0]
            if all(name in plans for plans in found)
        }

    def diagnostics(self) -> list[Diagnostic]:
        """The complaints about the stages, each complaint once."""
        return list(dict.fromkeys(said for stage in self.stages for said in stage.diagnostics()))


def plan_stages(
    job: Job, names: Iterable[str] | None = None, progress: Shown | None = None
) -> Staged:
    """Solve every target for each stage; raises `JobError` for a name that the job does not have."""
    return Staged(job.name, tuple(planned_stages(job, names, progress)))


def planned_stages(
    job: Job,
    names: Iterable[str] | None = None,
    progress: Shown | None = None,
    keep: bool = False,
) -> Iterator[Planned]:
    """The plans of each stage, or of a job without stages; `keep` as in `plan_targets`."""
    chosen = target_names(job, names)
    previous: dict[str, Plan] = {}
    for stage in stages_of(job):
        planned = plan_targets(stage, chosen, progress, keep, fewer=True)
        if stage.previous:
            planned = following(planned, previous, progress, keep)
        yield planned
        previous = {plan.target: plan for plan in planned.plans}


def following(
    planned: Planned,
    previous: dict[str, Plan],
    progress: Shown | None = None,
    keep: bool = False,
) -> Planned:
    """The plans of a stage, each of a layout that loads the checkpoint of the `previous` stage's plan of its
    target: where the best one does not, the best of those that do, and a complaint where there is none.
    """
    found, complaints = [], list(planned.complaints)
    whole = dict(planned.whole)
    for plan in planned.plans:
        before = previous.get(plan.target)
        needs = TARGETS[plan.target].follows(before, plan.job) if before else ()
        if before and not before.job.saves(plan.target):
            complaints.append((plan.target, _unread(plan, before, "it writes none", _SAVE)))
        elif before and (unmet := [need for need in needs if not need.met(plan.layout)]):
            again = plan_targets(_joined(planned.job, needs, plan), [plan.target], progress, keep)
            whole |= again.whole
            if again.plans:
                found.append(_followed(again.plans[0], plan, before, unmet))
            else:
                help = f"{_listed(need.against(plan.layout) for need in unmet)} in the goal, "
                why = f"{_listed(need.text for need in needs)} fits no layout of it; {unmet[0].why}"
                told = _unread(plan, before, why, help + "which holds for each stage")
                complaints.append((plan.target, told))
        else:
            found.append(plan)
    plans = ranked(found)
    if plans[:1] != planned.plans[:1]:
        plans = (*map(with_advice, plans[:1]), *plans[1:])
    return replace(planned, plans=plans, complaints=tuple(complaints), whole=whole)


_SAVE = "leave `save` to its default"


def _unread(plan: Plan, previous: Plan, why: str, help: str) -> Diagnostic:
    stage, before = plan.job.stage, previous.job.stage
    what = "the weights" if plan.job.train.carry == "weights" else "the checkpoint"
    message = f"{plan.target}: stage `{stage}` cannot load {what} of `{before}`: {why}"
    return Diagnostic(UNFOLLOWED, message, plan.job.span("train"), help=help)


def _joined(job: Job, needs: Iterable[Need], plan: Plan) -> Job:
    """The stage with the needs in its goal, as far as the target decides their variables."""
    decided = {*TARGETS[plan.target].target.domains(job), "gpus", "dp"}
    added = (need.required(ORIGIN) for need in needs if need.name in decided)
    goal = replace(job.goal, constraints=(*job.goal.constraints, *added))
    return job.model_copy(update={"goal": goal})


def _followed(plan: Plan, free: Plan, previous: Plan, unmet: Iterable[Need]) -> Plan:
    conditions = tuple(need.text for need in unmet)
    told = Follows(stage=previous.job.stage, conditions=conditions, best=free.estimate)
    return plan.model_copy(update={"follows": told})


def _listed(conditions: Iterable[str]) -> str:
    return " and ".join(f"`require {each}`" for each in conditions)
