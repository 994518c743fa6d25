"""train a shrunken job for a few steps, through the files that the whole one would get"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, Note

from .. import codes
from .job_arguments import add_json, add_overrides, add_stage, add_targets, load_job, output_path

if TYPE_CHECKING:
    from parc.backends.smoke_run import SmokeRun
    from parc.compiler.plan import Plan
    from parc.smoke import Interpreter, Outcome, Request

NAME = "smoke"
PROCESSES, STEPS, LIMIT_SECONDS = 4, 8, 600.0


def at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(f"expected a whole number of at least {least}, not `{text}`")
        return int(text)

    return number


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file")
    add(
        "--procs",
        type=at_least(1),
        metavar="N",
        help=f"processes at most; the GPUs that are there, else {PROCESSES}, unless given",
    )
    add("--steps", type=at_least(2), default=STEPS, metavar="K", help=f"{STEPS} unless given")
    add(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="a Python that has the framework; several are asked in turn, and parc's own last",
    )
    add("--cpu", action="store_true", help="leave GPUs alone")
    add(
        "--limit",
        type=at_least(1),
        default=int(LIMIT_SECONDS),
        metavar="SECONDS",
        help=f"end a target's run after this time; {LIMIT_SECONDS:.0f} unless given",
    )
    add(
        "--keep", type=output_path, metavar="DIR", help="keep the files and outputs of the run here"
    )
    add_targets(parser)
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments, all_stages=True)
    from ..api import softened
    from ..printing.smoke_report import outcome_json, outcome_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress
    from ..staging import plan_stages

    _refuse_used(arguments.keep)
    interpreters = _interpreters([*arguments.python, sys.executable], gpus=not arguments.cpu)
    planned = plan_stages(job, arguments.target, progress)
    complaints = list(
        dict.fromkeys(each for stage in planned.stages for _, each in stage.complaints)
    )
    outcomes: list[Outcome] = []
    ways = planned.by_target().values()
    for plans in ways:
        ready = _request(plans[0], interpreters, arguments)
        if isinstance(ready, Diagnostic):
            complaints.append(ready)
            continue
        for outcome in _smoked(plans, ready):
            if outcome.after is None:
                complaints.append(_too_small(outcome.before, ready))
                continue
            outcomes.append(outcome)
            if not arguments.json:
                print_text(outcome_text(outcome))
    print_diagnostics(softened(complaints, bool(outcomes) and not arguments.target))
    if arguments.json:
        not_run = [complaint.to_json() for complaint in complaints]
        print_json({"runs": [outcome_json(outcome) for outcome in outcomes], "not_run": not_run})
    if not outcomes:
        return 2 if ways else 1
    return 0 if all(outcome.good for outcome in outcomes) else 1


def _smoked(plans: list[Plan], request: Request) -> list[Outcome]:
    """The outcome of each stage, of which the last may have failed."""
    from parc.smoke import smoke_stages

    from ..printing.terminal import progress

    try:
        with progress(f"{plans[0].target}: training"):
            return smoke_stages(plans, request)
    except OSError as error:
        raise JobError([_unusable(request.keep or Path(gettempdir()), error)]) from None


def _refuse_used(folder: Path | None) -> None:
    if folder is None:
        return
    from ..writing.folder import made

    try:
        with made(folder) as opened:
            used = bool(os.listdir(opened.number))
    except (OSError, ValueError) as error:
        raise JobError([_unusable(folder, error)]) from error
    if used:
        message = f"the folder `{folder}` is not empty"
        raise JobError(
            [Diagnostic(codes.FOLDER_IN_USE, message, help="name a new folder with --keep")]
        )


def _unusable(folder: Path, error: OSError | ValueError) -> Diagnostic:
    from ..writing.paths import why

    message = f"cannot use the folder `{folder}`: {why(error)}"
    return Diagnostic(codes.FOLDER_IN_USE, message)


def _interpreters(paths: list[str], gpus: bool) -> list[Interpreter]:
    """The interpreters that answer; raises JobError when one that the user named does not."""
    from parc.smoke import look_into

    found: list[Interpreter] = []
    for path in dict.fromkeys(paths):
        answer = look_into(path, gpus)
        if isinstance(answer, str):
            message = f"`{path}` does not run as a Python interpreter: {answer}"
            raise JobError([Diagnostic(codes.NO_FRAMEWORK, message)])
        found.append(answer)
    return found


def _request(
    plan: Plan, interpreters: list[Interpreter], arguments: Namespace
) -> Request | Diagnostic:
    """The run of a plan in the first interpreter that has its framework, or what is lacking."""
    from parc.backends import BACKENDS
    from parc.smoke import Request

    if plan.target not in BACKENDS:
        message = f"target {plan.target} has no framework: nothing of it can be trained"
        return Diagnostic(codes.NO_FRAMEWORK, message, help="name a framework as target")
    framework = BACKENDS[plan.target].smoke
    able = [each for each in interpreters if each.has(framework.needs(plan.job))]
    if not able:
        return _lacking(plan, framework, interpreters)
    reasons = [framework.refuses(plan.job, each) for each in able]
    if None not in reasons:
        message = f"{plan.target} cannot be trained here: {reasons[0]}"
        return Diagnostic(codes.NO_FRAMEWORK, message)
    interpreter = able[reasons.index(None)]
    processes = arguments.procs or interpreter.gpus or PROCESSES
    gpus = interpreter.gpus > 0
    return Request(
        interpreter,
        min(processes, interpreter.gpus) if gpus else processes,
        arguments.steps,
        gpus,
        float(arguments.limit),
        arguments.keep and _kept(arguments.keep, plan.target),
    )


def _kept(folder: Path, target: str) -> Path:
    place = folder / target
    place.mkdir()
    return place


def _lacking(plan: Plan, framework: SmokeRun, interpreters: list[Interpreter]) -> Diagnostic:
    notes = tuple(Note(f"{each.path} has {_listed(each)}") for each in interpreters)
    return Diagnostic(
        codes.NO_FRAMEWORK,
        f"{plan.target} needs a Python with {' and '.join(framework.needs(plan.job))}",
        notes=notes,
        help=f"name one with --python, or set one up: {framework.install(plan.job)}",
    )


def _listed(interpreter: Interpreter) -> str:
    packages = [f"{name} {version}" for name, version in interpreter.packages.items()]
    return ", ".join(packages) or "none of the frameworks"


def _too_small(plan: Plan, request: Request) -> Diagnostic:
    what = "GPUs" if request.gpus else "processes"
    return Diagnostic(
        codes.NO_SMOKE,
        f"{plan.target}: no part of the layout that the framework runs fits {request.processes} {what}",
        help=None if request.gpus else "allow more with --procs",
    )
