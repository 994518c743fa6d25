"""Trials -> the files of their folder, and that folder after they ran -> a log of each.

    trial-1/ ...    the launch files of a short run, as `parc compile` writes them
    run.sh          runs them all, one after another
    trials.sbatch   the same as an array, where the job has a launcher
    trials.json     target and layout of each

A run leaves `run*.log` in its folder: several nodes one each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..backends import BACKENDS, LAUNCHERS
from ..backends.render import provenance, render
from ..compiler.plan import Plan
from ..compiler.variables import ORDER
from ..dsl.diagnostics import Diagnostic, JobError
from .codes import UNREADABLE

FOLDER, LISTED, SCRIPT, LOG = "trial-", "trials.json", "run.sh", "run.log"


@dataclass(frozen=True)
class RanTrial:
    """A trial that ran: its folder, the layout that it was given, and its logs."""

    folder: str
    layout: Mapping[str, int]
    logs: tuple[Path, ...]


def common_files(plans: Sequence[Plan]) -> dict[str, str]:
    """What stands beside the trials' own folders."""
    first = plans[0]
    values = {
        "provenance": provenance(first),
        "title": f"{len(plans)} short runs of {first.target}, each with its log beside it.",
        "path": SCRIPT,
        "folder": FOLDER,
        "count": len(plans),
        "stem": Path(LOG).stem,
        "entry": BACKENDS[first.target].entry,
    }
    files = {SCRIPT: render("trials.sh.j2", values), LISTED: listed(plans)}
    if first.job.launch is not None:
        files |= LAUNCHERS[first.job.launch.kind].array(plans, FOLDER, LOG)
    return files


def listed(plans: Sequence[Plan]) -> str:
    found = [
        {"target": plan.target, "layout": {name: getattr(plan.layout, name) for name in ORDER}}
        for plan in plans
    ]
    return json.dumps({"trials": found}, indent=2) + "\n"


def is_trials(path: Path) -> bool:
    return (path / LISTED).is_file()


def ran_trials(path: Path) -> list[RanTrial]:
    """The trials in a folder that have a log. Raises JobError for a folder that `parc trials` did not write,
    and where none has run."""
    try:
        known = json.loads((path / LISTED).read_text(encoding="utf-8"))["trials"]
        layouts = [{name: int(each["layout"][name]) for name in ORDER} for each in known]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unusable(path / LISTED, f"is not what `parc trials` writes: {error}") from None
    found = []
    for number, layout in enumerate(layouts, 1):
        folder = path / f"{FOLDER}{number}"
        logs = tuple(sorted(folder.glob(f"{Path(LOG).stem}*.log")))
        if logs:
            found.append(RanTrial(str(folder), layout, logs))
    if not found:
        raise _unusable(path, f"has no {FOLDER}*/{LOG}: none of its trials has run")
    return found


def _unusable(path: Path, what: str) -> JobError:
    help = "write them with `parc trials`, then start run.sh or submit trials.sbatch"
    return JobError([Diagnostic(UNREADABLE, f"`{path}` {what}", help=help)])
