"""fit a cluster's few parameters to logs of real runs, and write them as a file to import"""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from .estimate import layout
from .job_arguments import add_json, add_overrides, add_stage, load_job, output_path

if TYPE_CHECKING:
    from parc.dsl.job import Job

NAME = "calibrate"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    log = (
        "what one run printed, or a folder of trials or of `parc compile` with run*.log in it; with =JOB.par "
        "of that job"
    )
    add("log", nargs="+", type=log_and_job, metavar="LOG[=JOB.par]", help=log)
    jobs = "a job file that ran; of several, each log's is the one that its first lines tell"
    add("--job", action="append", default=[], metavar="JOB", help=jobs)
    output = "the .par file to write"
    add("-o", "--output", required=True, type=output_path, metavar="FILE", help=output)
    add(
        "--layout",
        action="append",
        default=[],
        type=layout_of_log,
        metavar="[LOG:]NAME=VALUE,...",
        help="what a log leaves open of its layout, as in `parc estimate`; of all logs unless one is named",
    )
    add("--force", action="store_true", help="replace a file that parc did not write")
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def log_and_job(text: str) -> tuple[str, str | None]:
    """`run.log=job.par` as the log's path and the job's, where there is no log of that whole name."""
    log, _, job = text.rpartition("=")
    if not log or not job.endswith(".par") or os.path.exists(text):
        return text, None
    return log, job


def layout_of_log(text: str) -> tuple[str, dict[str, int]]:
    """`run.log:tp=8,pp=2` as the log's name, empty for all of them, and its degrees."""
    log, _, degrees = text.rpartition(":")
    found = layout(degrees)
    if not found:
        raise ArgumentTypeError(f"`{text}` names no degree")
    return log, found


def run(arguments: Namespace) -> int:
    arguments.log = [(path, job or _compiled_from(path, arguments)) for path, job in arguments.log]
    jobs = _jobs(arguments)
    from parc.calibrate.calibration import calibrate
    from parc.calibrate.site_file import is_ours, site_text

    from ..printing.calibration_report import calibration_json, calibration_text, summary
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress
    from ..writing.single_file import refuse, replace

    paths = [path for path, _ in arguments.log]
    refuse(arguments.output, is_ours, arguments.force, (*jobs, *paths))
    layouts = _layouts(arguments.layout, paths)
    logs = [(path, jobs[job] if job else None) for path, job in arguments.log]
    with progress("calibrating"):
        result = calibrate([jobs[path] for path in dict.fromkeys(arguments.job)], logs, layouts)
    print_diagnostics(result.warnings)
    text = site_text(result.jobs, result.site, str(arguments.output), summary(result))
    changed = replace(arguments.output, text)
    if arguments.json:
        print_json(calibration_json(result, str(arguments.output), changed))
    else:
        print_text(calibration_text(result, str(arguments.output), changed))
    return 0


def _compiled_from(path: str, arguments: Namespace) -> str | None:
    """The file of the job that an output folder was compiled from: one of --job, in the folder or beside it.
    None for what is no such folder, and for trials of another text: a job changes when it imports what they
    calibrated, and each of their logs says by its first line whether it is of the job. Raises JobError where
    another folder is of none of them."""
    from parc.calibrate.codes import OTHER_JOB
    from parc.calibrate.compiled_folder import is_compiled, job_files
    from parc.calibrate.trial_files import is_of_trials

    if not is_compiled(path):
        return None
    digest, files = job_files(path)
    tried: list[str] = list(dict.fromkeys([*arguments.job, *files]))
    for each in tried:
        job = load_job(Namespace(job=each, set=arguments.set, stage=arguments.stage))
        if job.digest == digest:
            return each
    if is_of_trials(path):
        return None
    message = f"`{path}` was compiled from none of {', '.join(tried)}" if tried else ""
    message = message or f"the job of `{path}` is not beside it"
    help = f"name the job as it was compiled, with the same --set: {path}=JOB.par"
    raise JobError([Diagnostic(OTHER_JOB, message, help=help)])


def _jobs(arguments: Namespace) -> dict[str, Job]:
    """Every job by its path. Raises JobError with the complaints about all of them, and where a log has
    none."""
    from parc.calibrate.codes import OTHER_JOB

    alone = [path for path, job in arguments.log if job is None]
    if alone and not arguments.job:
        help = f"--job JOB.par, or {alone[0]}=JOB.par"
        raise JobError([Diagnostic(OTHER_JOB, f"`{alone[0]}` has no job", help=help)])
    jobs: dict[str, Job] = {}
    complaints: list[Diagnostic] = []
    named = (job for _, job in arguments.log if job)
    for path in dict.fromkeys([*arguments.job, *named]):
        try:
            jobs[path] = load_job(Namespace(job=path, set=arguments.set, stage=arguments.stage))
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError(complaints)
    return jobs


def _layouts(
    given: Sequence[tuple[str, dict[str, int]]], paths: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Degrees by log; those of a named log come on top of those for all."""
    from parc.calibrate.codes import LAYOUT

    common = {name: value for log, known in given if not log for name, value in known.items()}
    layouts = {"": common}
    for log, known in given:
        if log and log not in paths:
            help = did_you_mean(log, paths) or f"the logs are {', '.join(paths)}"
            message = f"--layout names `{log}`, which is not one of the logs"
            raise JobError([Diagnostic(LAYOUT, message, help=help)])
        layouts[log] = {**layouts.get(log, common), **known}
    return layouts
