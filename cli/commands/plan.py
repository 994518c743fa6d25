"""solve a job and print the best layout of each target; write nothing"""

from argparse import ArgumentParser, Namespace

from .job_arguments import add_json, add_overrides, add_targets, load_job

NAME = "plan"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="a job file")
    add_targets(parser)
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from ..api import plan_targets
    from ..printing.plan_json import planned_json
    from ..printing.plan_text import plans_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress

    planned = plan_targets(job, arguments.target, progress)
    print_diagnostics(planned.diagnostics())
    if arguments.json:
        print_json(planned_json(planned))
    elif planned.plans:
        print_text(plans_text(planned))
    return 0 if planned.plans else 1
