"""write the job that launch files describe"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, Note

from .. import codes
from ..launched import one_launch
from .job_arguments import output_path
from .lint_arguments import pair

if TYPE_CHECKING:
    from parc.reading.facts import Setting

NAME = "import"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="FILE", help="the launch files of one job")
    add(
        "-o", "--output", type=output_path, metavar="JOB", help="the job file; printed unless given"
    )
    add("--cluster", metavar="NAME", help="where it runs, such as std.h100_pod")
    add("--force", action="store_true", help="replace a job file that is there")
    add("--env", action="append", default=[], type=pair, metavar="NAME=VALUE", help="a variable")
    add("--strict", action="store_true", help="write nothing where a setting would be lost; exit 1")
    parser.epilog = "arguments behind -- are those of the script"


def run(arguments: Namespace) -> int:
    from parc.lint.imported import imported
    from parc.lint.std_cluster import cluster_named
    from parc.lint.unexpressed import lines

    from ..printing.terminal import print_diagnostics

    cluster = cluster_named(arguments.cluster).name if arguments.cluster else None
    launch = one_launch(arguments.paths, dict(arguments.env), tuple(arguments.script))
    found = imported(launch, cluster)
    if arguments.strict and found.lost:
        print_diagnostics([_refused(found.lost)])
        return 1
    _write(arguments, found.text)
    for name in found.unknown:
        print(f"not in the files: {name}", file=sys.stderr)
    for line in lines(found.lost):
        print(f"not in the job: {line}", file=sys.stderr)
    return 0


def _refused(lost: Sequence[Setting]) -> Diagnostic:
    from parc.lint.unexpressed import lines

    settings = "1 setting" if len(lost) == 1 else f"{len(lost)} settings"
    return Diagnostic(
        codes.LOST,
        f"{settings} of the files would be lost",
        notes=tuple(Note(line) for line in lines(lost)),
        help="without --strict they are listed, and stand in the job as comments",
    )


def _write(arguments: Namespace, text: str) -> None:
    path: Path | None = arguments.output
    if path is None:
        print(text, end="")
        return
    if not arguments.force and os.path.lexists(path):
        message = f"`{path}` is there already"
        raise JobError([Diagnostic(codes.FOREIGN, message, help="another name, or --force")])
    from ..writing.single_file import refuse, replace

    refuse(path, lambda text: False, arguments.force)
    replace(path, text)
