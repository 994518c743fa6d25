"""A job of launch files as a side of a resume: its framework, release, layout and form of checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

from ...backends import BACKENDS
from ...backends.reader import Missing
from ...backends.release_check import written_release
from ...backends.resume import CHANGES, Change, Saved, judged
from ...reading.facts import LaunchConfig
from .known import Known
from .launched_job import LaunchedJob
from .release import dated


def saved_by(
    launch: LaunchedJob, framework: str, name: str, layout: Mapping[str, int] | None = None
) -> Saved:
    """A job as a side of that name, by what it saves; the layout is that of its facts unless it is given."""
    known = launch.release(framework).release if dated(framework) else None
    release = known or written_release(launch.config, framework) or ""
    resume = BACKENDS[framework].resume
    return Saved(
        name,
        framework,
        release,
        layout or degrees(launch),
        resume.form(launch.config, release),
        resume.draws(launch.config),
    )


def degrees(launch: LaunchedJob) -> dict[str, int]:
    """The layout as launch files tell it, without what they leave open."""
    layout = {}
    for name in CHANGES:
        try:
            layout[name] = Known(launch).column(name)
        except Missing:
            continue
    return layout


def refused(one: LaunchConfig, two: LaunchConfig) -> Change | None:
    """The first degree for which neither of two jobs of one framework resumes what the other one saved."""
    framework = one.framework
    if framework is None or framework != two.framework or framework not in BACKENDS:
        return None
    old, new = (saved_by(LaunchedJob(each), framework, "") for each in (one, two))
    resume = BACKENDS[framework].resume
    there, back = judged(old, new, resume), judged(new, old, resume)
    stopped = {each.name for each in back.changes if each.row and each.row.stops}
    told = (each for each in there.changes if each.name in CHANGES and each.row and each.row.stops)
    return next((each for each in told if each.name in stopped), None)
