"""Trials -> text for a person and JSON: what to run, how long it takes, what it is expected to gain."""

from __future__ import annotations

from pathlib import Path

from parc.calibrate.trial_files import FOLDER, SCRIPT
from parc.calibrate.trials import STEPS, Trials
from parc.dsl.job import Job, Launch

from .plan_json import JsonObject, estimate_json, rounded
from .words.command_paths import argument, program
from .words.layouts import layout_text
from .words.numbers import seconds, span
from .words.paragraphs import words


def trials_text(job: Job, found: Trials, folder: Path) -> str:
    lines = [f"{job.name}  {found.plan.target}, {len(found.plans)} trials of {STEPS} steps", ""]
    for number, plan in enumerate(found.plans, 1):
        step = seconds(plan.estimate.step_seconds)
        layout = f"{layout_text(plan.layout)}, {step} a step predicted"
        lines += words(f"  {FOLDER}{number}  ", layout)
    before, after = found.regret_before, found.regret_after
    batch, place, path = (argument(each) for each in (folder / "trials.sbatch", folder, job.path))
    lines += [
        "",
        *words(
            "  gain    ",
            f"the plan is expected to be {before:.1%} from the best now, {after:.1%} after them",
        ),
        *words(
            "  time    ",
            f"{span(found.seconds)} of steps, and what {len(found.plans)} starts take",
        ),
        "",
        f"{folder}: written; to use them",
        "",
        f"  {program(folder / SCRIPT)}"
        + (f"    or    sbatch {batch}" if isinstance(job.launch, Launch) else ""),
        f"  parc calibrate {place} --job {path} -o calibrated.par",
    ]
    return "\n".join(lines)


def trials_json(found: Trials, folder: Path) -> JsonObject:
    return {
        "target": found.plan.target,
        "folder": str(folder),
        "steps": STEPS,
        "trials": [estimate_json(plan.estimate) for plan in found.plans],
        **rounded(
            {
                "seconds": found.seconds,
                "regret_before": found.regret_before,
                "regret_after": found.regret_after,
            }
        ),
    }
