"""read jobs and say what is wrong with them; nothing is solved"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
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
    parser.add_argument("--fix", action="store_true", help="write the cures into the files")
    parser.add_argument("--diff", action="store_true", help="show what --fix would change")
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: guesses too, and lines that the language cannot express go",
    )


def run(arguments: Namespace) -> int:
    if arguments.diff or arguments.fix:
        mended = [path for path in arguments.job if _mend(path, arguments)]
        if arguments.diff:
            return 1 if mended else 0
    code, found = 0, []
    for path in arguments.job:
        code, said = max(code, (judged := _judged(path, arguments))[0]), judged[1]
        found += said
        if not said and not arguments.json:
            print_text(f"{path}: fine")
    print_diagnostics(found)
    if arguments.json:
        print_json([diagnostic.to_json() for diagnostic in found])
    return code


def _judged(path: str, arguments: Namespace) -> tuple[int, list[Diagnostic]]:
    """The exit code of one job, and what is said of it."""
    import parc

    try:
        refusals = _refusals(parc.load(path, arguments.set))
    except JobError as error:
        return 2, list(error.diagnostics)
    return 1 if refusals else 0, refusals


def _mend(path: str, arguments: Namespace) -> bool:
    """Writes the cures of a file, or shows them; whether there are any."""
    from parc.mending import mended

    from ..writing.output_folder import Change
    from ..writing.single_file import rewrite

    before, after, count = mended(path, arguments.set, arguments.unsafe_fixes)
    if arguments.diff:
        print(Change(path, before, after).diff(), end="")
    elif count:
        rewrite(Path(path), before, after)
        print(f"fixed {path}: {count}", file=sys.stderr)
    return count > 0


def _refusals(job: Job) -> list[Diagnostic]:
    """Complaints of targets that cannot run the job in any layout."""
    from parc.backends import BACKENDS

    return [found for spec in job.targets for found in BACKENDS[spec.name].target.refuses(job)]
