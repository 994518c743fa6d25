"""Trials -> the files of their folder, and that folder after they ran -> a log of each.

    trial-1/ ...    the launch files of a short run, as `parc compile` writes them
    run.sh          runs them all, one after another
    trials.sbatch   the same as an array, where the job has a launcher
    trials.json     target and layout of each

A run leaves `run*.log` in its folder: several nodes one each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..backends import BACKENDS, LAUNCHERS
from ..backends.render import provenance, render
from ..compiler.plan import Plan
from ..compiler.variables import ORDER
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.inputs.documents import json_value
from ..dsl.inputs.files import text_of as file_text
from .codes import LAYOUT, OTHER_JOB, UNREADABLE
from .compiled_folder import is_compiled, layout_of
from .log_files import LOGS
from .measured_run import ALONE

Layouts = Mapping[str, Mapping[str, int]]
FOLDER, LISTED, SCRIPT, LOG = "trial-", "trials.json", "run.sh", "run.log"


def common_files(plans: Sequence[Plan]) -> dict[str, str]:
    """Files beside the trials' own folders."""
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
    launcher = LAUNCHERS[first.job.launch.kind] if first.job.launch else None
    if launcher is not None and launcher.array is not None:
        files |= launcher.array(plans, FOLDER, LOG)
    return files


def listed(plans: Sequence[Plan]) -> str:
    found = [
        {"target": plan.target, "layout": {name: getattr(plan.layout, name) for name in ORDER}}
        for plan in plans
    ]
    return json.dumps({"trials": found}, indent=2) + "\n"


def is_of_trials(path: str) -> bool:
    return os.path.isfile(os.path.join(path, LISTED))


def logs_of(paths: Sequence[str], layouts: Layouts) -> tuple[list[str], Layouts, set[str]]:
    """The logs at `paths`, where a folder of trials stands for the folders of those that ran; their layouts
    beside the given ones, of a folder that `parc compile` wrote too; and which of the logs are of trials.

    Raises JobError for a folder that `parc trials` did not write, and where none of its trials ran.
    """
    found: list[str] = []
    trials: dict[str, dict[str, int]] = {}
    compiled: dict[str, dict[str, int]] = {}
    for path in paths:
        listed = is_of_trials(path)
        folders = layouts_of(Path(path)) if listed else {}
        trials |= folders
        found += folders or [path]
        if not listed and is_compiled(path):
            compiled[path] = {**layout_of(path), **layouts.get(path, {})}
    given = {
        folder: {**layout, **layouts.get("", {})}
        for folder, layout in (*trials.items(), *compiled.items())
    }
    return found, {**layouts, **given}, set(trials)


def left_out(path: str, complaint: Diagnostic) -> Diagnostic:
    """A trial that cannot be used: the others tell enough."""
    help = "see the end of its log: a layout that runs out of memory is not a candidate"
    if complaint.code in (LAYOUT, OTHER_JOB):
        help = "run it again: its log is of another trial or job"
    elif complaint.help == ALONE:
        help = "run it again while nothing else runs"
    message = f"{complaint.message}; `{path}` is left out"
    return Diagnostic(complaint.code, message, severity="warning", help=help)


def layouts_of(path: Path) -> dict[str, dict[str, int]]:
    """The folders of the trials, of which one at least has a log, and the layout of each."""
    try:
        known = json_value(file_text(path / LISTED))["trials"]
        layouts = [{name: int(each["layout"][name]) for name in ORDER} for each in known]
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise JobError(
            [unusable(path / LISTED, f"is not what `parc trials` writes: {error}")]
        ) from None
    folders = {str(path / f"{FOLDER}{number}"): found for number, found in enumerate(layouts, 1)}
    if not any(any(Path(folder).glob(LOGS)) for folder in folders):
        raise JobError([unusable(path, f"has no {FOLDER}*/{LOG}: none of its trials has run")])
    return folders


def unusable(path: Path, what: str) -> Diagnostic:
    help = "write trials with `parc trials`, then start run.sh or submit trials.sbatch"
    return Diagnostic(UNREADABLE, f"`{path}` {what}", help=help)
