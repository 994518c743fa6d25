"""A plan whose choice is not settled -> what may be better, why the choice stays, and trials that tell."""

from __future__ import annotations

import shlex
from math import expm1
from pathlib import PurePath

from parc.backends import BACKENDS
from parc.backends.languages.bash import operand
from parc.compiler.plan import Doubt, Plan, Rival
from parc.compiler.risk import FOUR_OF_FIVE

from .words.layouts import splitting
from .words.numbers import risk
from .words.paragraphs import words

#: Short runs that are advised, and the folder that they are written to.
TRIALS, FOLDER = 3, "trials/"
#: What trials are for.
TELL = "Short runs on the cluster tell which is better"
#: The share below which two predictions are shown as equal.
EQUAL = 0.0005


def may_be_tried(plan: Plan) -> bool:
    """Whether short runs would settle the choice of a plan, whose framework can run them."""
    return bool(plan.doubt and not plan.doubt.settled) and plan.target in BACKENDS


def advice_lines(plan: Plan) -> list[str]:
    """The advice of a plan and its command; nothing where the choice is settled."""
    said = advice(plan)
    if not said:
        return []
    if not may_be_tried(plan):
        return words("  ", said)
    return [*words("  ", f"{said} {TELL}:"), "", f"    {trials_command(plan)}"]


def advice(plan: Plan) -> str:
    """Advice: what to run, what may be better, and why the choice stays; empty where it is settled."""
    doubt = plan.doubt
    if doubt is None or doubt.settled:
        return ""
    named = f"Run {plan.target}'s" if plan.target in BACKENDS else "Plan with this"
    run = f"{named} layout ({splitting(plan.layout)}), but"
    misses = f"The expected loss against the true best is {doubt.regret:.1%}."
    if not doubt.rivals:
        return f"{run} another layout may be better. {misses}"
    rival = doubt.rivals[0]
    return f"{run} {_better(doubt, rival)}. {_stays(plan, rival)}. {misses}"


def _better(doubt: Doubt, rival: Rival) -> str:
    chance, own = risk(rival.chance), risk(doubt.chance_of_split)
    return (
        f"{splitting(rival.layout)} may be better: {chance} chance that the best layout splits the "
        f"model so, {own} that it splits it as the chosen one"
    )


def _stays(plan: Plan, rival: Rival) -> str:
    """Why the choice stays, with the difference of the predictions beside the error of that difference."""
    share = expm1(FOUR_OF_FIVE * rival.spread)
    error = f"the model's error between the two (±{100 * share:.0f} %)"
    if abs(rival.worse) < EQUAL:
        return f"The choice stays {_reason(plan)}: both are predicted as good, within {error}"
    less = "which is less than" if abs(rival.worse) < share else "beside"
    if rival.worse > 0:
        return f"The choice stays because it is predicted {rival.worse:.1%} better, {less} {error}"
    worse = f"though predicted {-rival.worse:.1%} worse, {less} {error}"
    return f"The choice stays {_reason(plan)}, {worse}"


def _reason(plan: Plan) -> str:
    """The reason that decided among layouts that are predicted about equally good."""
    if plan.measured is not None and plan.measured.layouts:
        return "by the layouts that ran"
    if plan.simulated is not None and plan.simulated.instead is not None:
        return "by its simulated passes"
    return "as the preferred, simpler or roomier one"


def trials_command(plan: Plan, path: str | None = None) -> str:
    """The `parc trials` call for a plan's target; `path` stands for that of its job, if it is given."""
    job = plan.job
    several = ["--target", plan.target] if len(job.targets) > 1 else []
    stage = ["--stage", job.stage] if job.stage else []
    changes = [word for each in job.overrides for word in ("--set", each)]
    file = operand(job.path if path is None else path)
    asked = ["-n", str(TRIALS), "-o", FOLDER]
    return shlex.join(["parc", "trials", file, *asked, *several, *stage, *changes])


def local_command(plan: Plan) -> str:
    """The call in the job's folder, for files that hold no folder of a machine."""
    return trials_command(plan, PurePath(plan.job.path).name)
