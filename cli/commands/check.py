"""read jobs and say what is wrong with them; nothing is solved"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from ..printing.terminal import print_diagnostics, print_json, print_text
from .job_arguments import add_json, add_overrides

if TYPE_CHECKING:
    from parc.dsl.job import Job

NAME = "check"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", nargs="+", metavar="JOB", help="a job file")
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    import parc

    code, found = 0, []
    for path in arguments.job:
        try:
            refusals = _refusals(parc.load(path, arguments.set))
            code = max(code, 1 if refusals else 0)
        except JobError as error:
            refusals, code = list(error.diagnostics), 2
        found += refusals
        if not refusals and not arguments.json:
            print_text(f"{path}: fine")
    print_diagnostics(found)
    if arguments.json:
        print_json([diagnostic.to_json() for diagnostic in found])
    return code


def _refusals(job: Job) -> list[Diagnostic]:
    """Complaints of targets that cannot run the job in any layout."""
    from parc.backends import BACKENDS

    return [found for spec in job.targets for found in BACKENDS[spec.name].target.refuses(job)]
