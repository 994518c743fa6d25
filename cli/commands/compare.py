"""show jobs, plans, output folders or launch scripts side by side: layout, time, memory, cost, settings"""

from argparse import ArgumentParser, Namespace

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .job_arguments import add_json, add_overrides
from .lint_arguments import pair

NAME = "compare"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "subjects",
        nargs="+",
        metavar="SUBJECT",
        help="a job file, a plan.json, a folder that `parc compile` wrote, or a launch file",
    )
    add("--target", metavar="T", help="this target of jobs and plans; their best unless given")
    add("--cluster", metavar="NAME", help="where launch files run, such as std.h100_pod")
    add("--env", action="append", default=[], type=pair, metavar="NAME=VALUE", help="a variable")
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    if len(set(arguments.subjects)) < 2:
        help_text = "name a second job, plan, folder or launch file"
        raise JobError(
            [Diagnostic(codes.NO_TWO, "there is nothing to compare with", help=help_text)]
        )
    from parc.lint.std_cluster import cluster_named

    from ..printing.comparison import comparison_json, comparison_text
    from ..printing.terminal import print_json, print_text, progress
    from ..subjects import Asked, subjects

    cluster = cluster_named(arguments.cluster) if arguments.cluster else None
    asked = Asked(arguments.target, arguments.set, dict(arguments.env), cluster)
    with progress(f"comparing {len(arguments.subjects)}"):
        found = subjects(arguments.subjects, asked)
    if arguments.json:
        print_json(comparison_json(found))
    else:
        print_text(comparison_text(found))
    return 0
