"""say whether a run's checkpoints go on under another layout, what is lost, and what makes it so"""

from argparse import ArgumentParser, Namespace

from .job_arguments import add_json, add_overrides
from .lint_arguments import pair

NAME = "reshape"
SUBJECT = "a job file, a folder that `parc compile` wrote, or a launch file"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("old", metavar="OLD", help=f"what saved the checkpoints: {SUBJECT}")
    add("new", metavar="NEW", help=f"what shall resume them: {SUBJECT}")
    add("--target", metavar="T", help="this target of jobs and folders; their best unless given")
    add("--env", action="append", default=[], type=pair, metavar="NAME=VALUE", help="a variable")
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """0: the new one resumes whole as both stand; 1: not, or with losses."""
    from ..printing.resume_text import resume_json, resume_text
    from ..printing.terminal import print_json, print_text, progress
    from ..resuming import Asked, verdict

    asked = Asked(arguments.target, arguments.set, dict(arguments.env))
    with progress("comparing layouts"):
        found = verdict(arguments.old, arguments.new, asked)
    if arguments.json:
        print_json(resume_json(found))
    else:
        print_text(resume_text(found))
    return 0 if found.answer == "whole" else 1
