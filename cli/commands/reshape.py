"""say whether a run's checkpoints go on under another layout, what is lost, and what makes it so"""

from argparse import ArgumentParser, Namespace

from .job_arguments import add_json, add_overrides
from .lint_arguments import pair

NAME = "reshape"
SUBJECT = "a job file, a folder that `parc compile` wrote, or a launch file"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    old = f"what saved the checkpoints: {SUBJECT}, or the folder of the checkpoints"
    add("old", metavar="OLD", help=old)
    add("new", metavar="NEW", help=f"what shall resume them: {SUBJECT}")
    found = "OLD's checkpoints, or one of them: what it tells of its layout goes before OLD"
    add("--checkpoint", metavar="DIR", help=found)
    add("--target", metavar="T", help="this target of jobs and folders; their best unless given")
    add("--env", action="append", default=[], type=pair, metavar="NAME=VALUE", help="a variable")
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """0: the new one resumes whole as both stand; 1: not, or with losses, or the checkpoint does not tell."""
    from ..printing.resume_text import resume_json, resume_text
    from ..printing.terminal import print_json, print_text, progress
    from ..resuming import Asked, verdict

    asked = Asked(arguments.target, arguments.set, dict(arguments.env), arguments.checkpoint)
    with progress("comparing layouts"):
        found = verdict(arguments.old, arguments.new, asked)
    if arguments.json:
        print_json(resume_json(found))
    else:
        print_text(resume_text(found))
    return 0 if found.answer == "whole" and not found.untold else 1
