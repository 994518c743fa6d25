"""The plans of a job in stages -> text and JSON: each stage as a job of its own, then all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parc.compiler.plan import Plan
from parc.dsl.job import Job

from ..staging import Staged
from .plan_json import JsonObject, planned_json, rounded
from .plan_text import plans_text
from .summary_text import summary_text
from .words.layouts import splitting
from .words.numbers import duration, of_peak, short
from .words.paragraphs import words

#: The share by which a stage takes longer at least to be called longer.
SHOWN = 0.0005

if TYPE_CHECKING:
    from rich.text import Text


def staged_text(staged: Staged, whole: bool = False) -> Text:
    """The plans of each stage that has one, in full if they are asked for as a `whole`, then the sums."""
    from rich.text import Text

    parts: list[Text] = []
    for stage in staged.stages:
        if stage.plans:
            parts += [(plans_text if whole else summary_text)(stage), Text()]
    return Text("\n").join([*parts, Text("\n".join(sum_lines(staged)))])


def sum_lines(staged: Staged) -> list[str]:
    """A line for each stage on each target that has a plan of all, and the sum below."""
    lines = [f"{staged.name}  {len(staged.stages)} stages, one after another{_follow(staged)}"]
    sums = staged.by_target()
    if not sums:
        return [*lines, "", "  no target has a plan for each of them"]
    width = max(len("all"), *(len(stage.job.stage) for stage in staged.stages))
    for target, plans in sums.items():
        lines += ["", f"  {target}"]
        for plan in plans:
            lines += [
                f"    {plan.job.stage:<{width}}  {_taken(plan.estimate.days, plan.estimate.cost)}  "
                f"{plan.layout.gpus:,} GPUs  MFU {plan.estimate.mfu:.1%}{of_peak(plan.job)}  "
                f"{splitting(plan.layout)}",
                *(words(f"    {'':<{width}}  ", follows(plan)) if plan.follows else ()),
            ]
        lines.append(f"    {'all':<{width}}  {_taken(*_sums(plans)[:2])}".rstrip())
    return lines


def follows(plan: Plan) -> str:
    """The conditions under which a stage's layout loads the checkpoint of the one before, and their cost;
    empty where its best layout loads it."""
    if (found := plan.follows) is None:
        return ""
    longer = plan.estimate.days / found.best.days - 1
    cost = f", {longer:.1%} longer than" if longer >= SHOWN else ", as long as"
    said = " and ".join(f"`{each}`" for each in found.conditions)
    loads = f"to load {_carried(plan.job)} of `{found.stage}`"
    return f"{said}, {loads}{cost} with {splitting(found.best.layout)}"


def _carried(job: Job) -> str:
    return "the weights" if job.train.carry == "weights" else "the checkpoint"


def _follow(staged: Staged) -> str:
    later = [one.job for one in staged.stages[1:]]
    if not all(job.previous for job in later):
        return ""
    what = {_carried(job).replace("the ", "the last ") for job in later}
    return f", each from {' or '.join(sorted(what, reverse=True))} of the one before"


def _taken(days: float, cost: float) -> str:
    return f"{duration(days):>12}  {short(cost) + '$' if cost else '':>8}"


def _sums(plans: list[Plan]) -> tuple[float, float, float]:
    """Days, $ and joules of all stages."""
    found = [plan.estimate for plan in plans]
    return (
        sum(each.days for each in found),
        sum(each.cost for each in found),
        sum(each.energy_joules for each in found),
    )


def staged_json(staged: Staged) -> JsonObject:
    """The plans of each stage by its name, and by target the sums over all stages."""
    sums: dict[str, object] = {}
    for target, plans in staged.by_target().items():
        days, cost, energy = _sums(plans)
        sums[target] = rounded({"days": days, "cost": cost, "energy_joules": energy})
    stages = [{"stage": one.job.stage, **planned_json(one)} for one in staged.stages]
    return {"job": staged.name, "stages": stages, "all": sums}
