"""explain a plan: what limits it, what other values cost, why other layouts lose, what would change it"""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .estimate import layout
from .job_arguments import add_json, add_overrides, add_stage, add_targets, add_verbose, load_job
from .lint_arguments import pair

if TYPE_CHECKING:
    from parc.calibrate.predicted_run import Ran
    from parc.compiler.explain.against import Against
    from parc.compiler.plan import Plan
    from parc.dsl.job import Job

    from ..api import Planned

NAME = "explain"
#: What is not printed behind an answer to `--against` or `--log`.
WHOLE = (
    "-v: the whole plan, what limits it, what other values cost, and what would change the choice"
)


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file")
    add_targets(parser)
    add(
        "--against",
        nargs="+",
        metavar="LAYOUT|FILE",
        help="a layout such as tp=8,pp=4, or the launch files of one: where it differs, term by term",
    )
    add("--log", metavar="LOG", help="what a run printed: predicted beside measured")
    add("--env", action="append", default=[], type=pair, metavar="NAME=VALUE", help="a variable")
    add_overrides(parser)
    add_stage(parser)
    add_verbose(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from ..api import explain_plan, plan_targets
    from ..printing.difference_text import against_text, ran_text
    from ..printing.explanation_json import against_json, explanation_json, ran_json
    from ..printing.explanation_text import explanation_text
    from ..printing.plan_json import job_json
    from ..printing.plan_text import plans_text
    from ..printing.summary_text import summary_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress

    planned = plan_targets(job, arguments.target, progress, keep=True)
    print_diagnostics(planned.diagnostics())
    if not planned.plans:
        return 1
    plan, other = planned.plans[0], None
    if arguments.against:
        plan, other = _against(planned, arguments)
    ran = _ran(job, arguments.log) if arguments.log else None
    answers = [
        text for text in (other and against_text(plan.target, other), ran and ran_text(ran)) if text
    ]
    if answers and not (arguments.verbose or arguments.json):
        print_text("\n\n".join([*answers, WHOLE]))
        return 0
    with progress(f"{job.name}: asking what else there is"):
        explained = explain_plan(plan, planned.whole.get(plan.target))
    if arguments.json:
        more = {"against": other and against_json(other), "ran": ran and ran_json(ran)}
        print_json({"job": job_json(job), **explanation_json(explained), **more})
        return 0
    for answer in answers:
        print_text(f"{answer}\n")
    print_text((plans_text if arguments.verbose else summary_text)(planned))
    print_text(f"\n{explanation_text(explained)}")
    return 0


def _against(planned: Planned, arguments: Namespace) -> tuple[Plan, Against]:
    """The plan that is explained, and what is beside it: the best plan for a layout, for launch files that of
    their framework."""
    from parc.backends import TARGETS
    from parc.compiler.explain.against import against

    given: list[str] = arguments.against
    if len(given) == 1 and "=" in given[0] and not os.path.exists(given[0]):
        plan, degrees = planned.plans[0], _layout(given[0])
    else:
        plan, degrees = _launched(planned, given, dict(arguments.env))
    return plan, against(plan, TARGETS[plan.target].target, degrees)


def _layout(text: str) -> dict[str, int]:
    try:
        return layout(text)
    except ArgumentTypeError as error:
        raise JobError([Diagnostic(codes.AGAINST_LAYOUT, f"--against: {error}")]) from None


def _launched(
    planned: Planned, paths: Sequence[str], environment: dict[str, str]
) -> tuple[Plan, dict[str, int]]:
    from ..launched import layout_on, one_launch, other_batch
    from ..printing.terminal import print_diagnostics

    launch = one_launch(paths, environment)
    plans = {plan.target: plan for plan in planned.plans}
    if launch.framework not in plans:
        message = f"`{paths[0]}` is of {launch.framework or 'an unknown framework'}"
        help_text = f"{planned.job.name} has a plan for {', '.join(plans)}"
        raise JobError([Diagnostic(codes.AGAINST_TARGET, message, help=help_text)])
    print_diagnostics(other_batch(launch, planned.job))
    return plans[launch.framework], layout_on(launch, planned.job)


def _ran(job: Job, path: str) -> Ran:
    from parc.calibrate.predicted_run import ran

    return ran(job, path)
