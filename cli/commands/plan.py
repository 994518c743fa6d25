"""solve a job and print the best layout of each target; write nothing"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ..array_threads import load_numpy
from .job_arguments import add_json, add_overrides, add_stage, add_targets, load_job

if TYPE_CHECKING:
    from parc.dsl.job import Job

NAME = "plan"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="a job file")
    add_targets(parser)
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments, all_stages=True)
    load_numpy()
    if job.stages:
        return _stages(job, arguments)
    from ..api import plan_targets
    from ..printing.plan_json import planned_json
    from ..printing.plan_text import plans_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress

    planned = plan_targets(job, arguments.target, progress, fewer=True)
    print_diagnostics(planned.diagnostics())
    if arguments.json:
        print_json(planned_json(planned))
    elif planned.plans:
        print_text(plans_text(planned))
    return 0 if planned.plans else 1


def _stages(job: Job, arguments: Namespace) -> int:
    """The plans of each stage, and the days and the cost of all."""
    from ..printing.stages import staged_json, staged_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress
    from ..staging import plan_stages

    staged = plan_stages(job, arguments.target, progress)
    print_diagnostics(staged.diagnostics())
    if arguments.json:
        print_json(staged_json(staged))
    elif any(stage.plans for stage in staged.stages):
        print_text(staged_text(staged))
    return 0 if staged.complete else 1
