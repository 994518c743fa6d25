"""write the few short runs that tell most about which layout is best on this cluster"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from ..codes import NO_FRAMEWORK
from .job_arguments import add_json, add_overrides, add_stage, load_job, output_path

if TYPE_CHECKING:
    from parc.calibrate.trials import Trials
    from parc.compiler.plan import Plan

NAME = "trials"
#: Trials unless asked for more, and the most.
FEW, MOST = 3, 16


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file")
    help = f"how many, {FEW} unless given"
    add("-n", "--count", type=_count, default=FEW, metavar="N", help=help)
    output = "the folder to write them to"
    add("-o", "--output", required=True, type=output_path, metavar="DIR", help=output)
    add("--force", action="store_true", help="replace files that were edited since parc wrote them")
    add("--target", metavar="T", help="the target to try; the plan's best unless given")
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= MOST:
        raise ArgumentTypeError(f"expected a number from 1 to {MOST}, not `{text}`")
    return int(text)


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from parc.backends import BACKENDS
    from parc.calibrate.trials import trials

    from ..api import plan_targets
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress
    from ..printing.trials_report import trials_json, trials_text
    from ..writing.output_folder import changes, is_launch_file, refuse_unwritable, write

    changes(arguments.output, {})
    refuse_unwritable(arguments.output)
    named = [arguments.target] if arguments.target else None
    planned = plan_targets(job, named, progress)
    if not planned.plans:
        print_diagnostics(complaint for _, complaint in planned.complaints)
        return 1
    if planned.plans[0].target not in BACKENDS:
        print_diagnostics([_no_framework(planned.plans[0])])
        return 1
    with progress(f"{job.name}: trials"):
        found = trials(planned.plans[0], arguments.count)
    if not found.plans:
        print_diagnostics([_all_ran(found)])
        return 1
    files, scripts = _files(found)
    wanted = changes(arguments.output, files, scripts=scripts, may_be=is_launch_file)
    write(arguments.output, wanted, scripts, arguments.force)
    if arguments.json:
        print_json(trials_json(found, arguments.output))
    else:
        print_text(trials_text(job, found, arguments.output))
    return 0


def _no_framework(plan: Plan) -> Diagnostic:
    message = f"target {plan.target} has no framework: no layout of it can be tried"
    return Diagnostic(NO_FRAMEWORK, message, help="name a framework with --target")


def _all_ran(found: Trials) -> Diagnostic:
    from parc.calibrate.codes import NO_TRIAL

    message = f"{found.plan.target}: every layout that may be the best has run on this cluster"
    return Diagnostic(NO_TRIAL, message, help="take what `parc plan` says")


def _files(found: Trials) -> tuple[dict[str, str], set[str]]:
    """All files and scripts; raises JobError where a framework cannot express a trial."""
    from parc.calibrate.trial_files import FOLDER, SCRIPT, common_files

    from ..api import Planned, emit
    from ..printing.plan_json import lock
    from ..writing.output_folder import MANIFEST, manifest

    files, scripts = common_files(found.plans), {SCRIPT}
    for number, plan in enumerate(found.plans, 1):
        planned, emitted = emit(Planned(plan.job, (plan,)))
        if not planned.plans:
            raise JobError([complaint for _, complaint in planned.complaints])
        files |= {f"{FOLDER}{number}/{path}": text for path, text in emitted.files.items()}
        scripts |= {f"{FOLDER}{number}/{path}" for path in emitted.scripts}
    whole = Planned(found.plan.job, (found.plan,))
    return {**files, MANIFEST: lock(whole, manifest(files))}, scripts
