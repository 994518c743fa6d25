"""write the job that launch files describe"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, Note
from parc.dsl.inputs.documents import json_value

from .. import codes
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
    from parc.lint.facts.launched_job import LaunchedJob
    from parc.lint.files import read_texts
    from parc.lint.imported import imported
    from parc.lint.run import read_configs
    from parc.lint.std_cluster import cluster_named
    from parc.lint.unexpressed import lines

    from ..printing.terminal import print_diagnostics

    cluster = cluster_named(arguments.cluster).name if arguments.cluster else None
    texts = read_texts(arguments.paths)
    if texts.unreadable:
        raise JobError(texts.unreadable)
    configs = read_configs(texts.texts, dict(arguments.env), tuple(arguments.script))
    jobs = [LaunchedJob(config) for config in configs if config.facts and config.settings]
    if len(jobs) != 1:
        raise JobError([_not_one(jobs, texts.texts)])
    found = imported(jobs[0], cluster)
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


def _not_one(jobs: Sequence[object], texts: Mapping[str, str]) -> Diagnostic:
    models = {path: kind for path, text in texts.items() if (kind := hugging_face_model(text))}
    if not jobs and models:
        path, kind = next(iter(models.items()))
        message = f"`{path}` is the configuration of a Hugging Face model ({kind}), and starts no training"
        help_text = "name the script that trains it; a job says `model from std.NAME` (`parc std`)"
        return Diagnostic(codes.NO_FILES, message, help=help_text)
    if not jobs:
        message, help_text = "these files start no training", "name the script that does"
    else:
        message, help_text = f"these files start {len(jobs)} jobs", "name the files of one"
    return Diagnostic(codes.NO_FILES, message, help=help_text)


def hugging_face_model(text: str) -> str | None:
    """The architecture or type of the model whose config.json this is; None for any other text."""
    try:
        read = json_value(text)
    except ValueError:
        return None
    if not isinstance(read, dict):
        return None
    named = read.get("architectures") or [read.get("model_type")]
    return str(named[0]) if isinstance(named, list) and named[0] else None


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
