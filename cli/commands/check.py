"""read jobs and say what is wrong with them; nothing is solved"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from ..printing.terminal import print_diagnostics, print_json, print_page, print_text
from .job_arguments import STANDARD_INPUT, add_json, add_overrides, standard_input

if TYPE_CHECKING:
    from parc.checking import Checked

NAME = "check"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB", help="a job file, or - for standard input")
    add_overrides(parser)
    add_json(parser)
    parser.add_argument("--fix", action="store_true", help="write the cures into the files")
    parser.add_argument("--diff", action="store_true", help="show what --fix would change")
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: guesses too, and lines that the language cannot express go",
    )

    parser.add_argument(
        "--explain", metavar="CODE", help="print the page of a code, such as PAR063"
    )


def run(arguments: Namespace) -> int:
    if arguments.explain:
        from .rules import explained

        print_page(explained(arguments.explain))
        return 0
    if not arguments.job:
        raise JobError([Diagnostic(codes.NO_FILES, "no job is named", help="parc check job.par")])
    if STANDARD_INPUT in arguments.job and (arguments.diff or arguments.fix):
        message = "--fix and --diff take files, not standard input"
        raise JobError([Diagnostic(codes.USAGE, message, help="save the job to a file")])
    if arguments.diff or arguments.fix:
        mended = [path for path in arguments.job if _mend(path, arguments)]
        if arguments.diff:
            return 1 if mended else 0
    jobs = {path: _checked(path, arguments.set) for path in arguments.job}
    found = [diagnostic for each in jobs.values() for diagnostic in each.diagnostics]
    for path, each in jobs.items():
        if not each.diagnostics and not arguments.json:
            print_text(f"{'<stdin>' if path == STANDARD_INPUT else path}: fine")
    print_diagnostics(found)
    if arguments.json:
        print_json([diagnostic.to_json() for diagnostic in found])
    return max(each.code for each in jobs.values())


def _checked(path: str, overrides: Sequence[str]) -> Checked:
    from parc.checking import checked
    from parc.dsl.syntax.sources import decode

    if path != STANDARD_INPUT:
        return checked(path, overrides)
    return checked("<stdin>", overrides, decode(standard_input(), "<stdin>"))


def _mend(path: str, arguments: Namespace) -> bool:
    """Writes the cures of a file, or shows them; whether there are any."""
    from parc.checking import mended

    from ..writing.output_folder import Change
    from ..writing.single_file import rewrite

    before, after, count = mended(path, arguments.set, arguments.unsafe_fixes)
    if arguments.diff:
        print(Change(path, before, after).diff(), end="")
    elif count:
        rewrite(Path(path), before, after)
        print(f"fixed {path}: {count}", file=sys.stderr)
    return count > 0
