"""say why a job's plan is what it is: what binds, what if, who loses by what, what would change the choice"""

from argparse import ArgumentParser, Namespace

from .job_arguments import add_json, add_overrides, add_targets, load_job

NAME = "explain"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="a job file")
    add_targets(parser)
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from ..api import explain_plan, plan_targets
    from ..printing.explanation_json import explanation_json
    from ..printing.explanation_text import explanation_text
    from ..printing.plan_json import job_json
    from ..printing.plan_text import plans_text
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress

    planned = plan_targets(job, arguments.target, progress)
    print_diagnostics(planned.diagnostics())
    if not planned.plans:
        return 1
    with progress(f"{job.name}: asking what else there is"):
        explained = explain_plan(planned.plans[0])
    if arguments.json:
        print_json({"job": job_json(job), **explanation_json(explained)})
    else:
        print_text(plans_text(planned))
        print_text(f"\n{explanation_text(explained)}")
    return 0
