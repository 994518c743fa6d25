"""solve a job and print the best layout of each target; write nothing"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..array_threads import load_numpy
from .job_arguments import add_json, add_overrides, add_stage, add_targets, add_verbose, load_job

if TYPE_CHECKING:
    from parc.compiler.plan import Plan
    from parc.dsl.job import Job

NAME = "plan"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="a job file")
    add_targets(parser)
    add_overrides(parser)
    add_stage(parser)
    add_verbose(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments, all_stages=True)
    load_numpy()
    if job.stages:
        return _stages(job, arguments)
    from ..api import plan_targets
    from ..printing.plan_json import planned_json
    from ..printing.plan_text import plans_text
    from ..printing.summary_text import summary_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress

    planned = plan_targets(job, arguments.target, progress, fewer=True)
    print_diagnostics(planned.diagnostics())
    if arguments.json:
        print_json(planned_json(planned))
    elif planned.plans:
        print_text((plans_text if arguments.verbose else summary_text)(planned))
        _print_next(job, planned.plans[:1], [plan.target for plan in planned.plans], arguments)
    return 0 if planned.plans else 1


def _print_next(
    job: Job, best: Sequence[Plan], targets: Sequence[str], arguments: Namespace
) -> None:
    """The next command, and in the short form what the long one has and tells itself."""
    from ..printing.next_text import WHOLE, planned_lines
    from ..printing.terminal import print_text

    lines = planned_lines(job, [] if arguments.verbose else best, targets)
    print_text("\n".join(["", *lines, *([] if arguments.verbose else [WHOLE])]))


def _stages(job: Job, arguments: Namespace) -> int:
    """The plans of each stage, and the days and the cost of all."""
    from ..printing.stage_text import staged_json, staged_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress
    from ..staging import plan_stages

    staged = plan_stages(job, arguments.target, progress)
    print_diagnostics(staged.diagnostics())
    if arguments.json:
        print_json(staged_json(staged))
    elif any(stage.plans for stage in staged.stages):
        print_text(staged_text(staged, arguments.verbose))
        if names := list(staged.by_target()):
            best = [stage.plans[0] for stage in staged.stages]
            _print_next(job, best, names, arguments)
    return 0 if staged.complete else 1
