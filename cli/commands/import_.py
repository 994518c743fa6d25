"""write the job that launch files describe"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .job_arguments import output_path
from .lint import pair

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
    parser.epilog = "arguments behind -- are those of the script"


def run(arguments: Namespace) -> int:
    from parc.lint.facts.launched_job import LaunchedJob
    from parc.lint.files import read_texts
    from parc.lint.imported import imported
    from parc.lint.run import read_configs
    from parc.lint.std_cluster import cluster_named

    cluster = cluster_named(arguments.cluster).name if arguments.cluster else None
    texts = read_texts(arguments.paths)
    if texts.unreadable:
        raise JobError(texts.unreadable)
    configs = read_configs(texts.texts, dict(arguments.env), tuple(arguments.script))
    jobs = [LaunchedJob(config) for config in configs if config.facts]
    if len(jobs) != 1:
        raise JobError([_not_one(jobs)])
    found = imported(jobs[0], cluster)
    _write(arguments, found.text)
    for name in found.unknown:
        print(f"not in the files: {name}", file=sys.stderr)
    return 0


def _not_one(jobs: Sequence[object]) -> Diagnostic:
    if not jobs:
        message, help_text = "these files start no training", "name the script that does"
    else:
        message, help_text = f"these files start {len(jobs)} jobs", "name the files of one"
    return Diagnostic(codes.NO_FILES, message, help=help_text)


def _write(arguments: Namespace, text: str) -> None:
    path: Path | None = arguments.output
    if path is None:
        print(text, end="")
        return
    if path.exists() and not arguments.force:
        message = f"`{path}` is there already"
        raise JobError([Diagnostic(codes.FOREIGN, message, help="another name, or --force")])
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise JobError([Diagnostic(codes.UNWRITABLE, f"cannot write `{path}`: {reason}")]) from None
