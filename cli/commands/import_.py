"""write the job that launch files describe"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, Note, one_line

from .. import codes
from ..launched import one_launch
from .job_arguments import add_json, output_path
from .lint_arguments import pair

if TYPE_CHECKING:
    from parc.reading.facts import Setting

    from ..printing.plan_json import JsonObject

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
    add_json(parser)
    parser.epilog = "arguments behind -- are those of the script"


def run(arguments: Namespace) -> int:
    if model := _hugging_face(arguments.paths):
        return _import_model(arguments, model)
    from parc.lint.imported import imported
    from parc.lint.std_cluster import cluster_named
    from parc.lint.unexpressed import lines

    from ..printing.terminal import print_diagnostics
    from ..writing.job_file import write_job

    cluster = cluster_named(arguments.cluster).name if arguments.cluster else None
    launch = one_launch(arguments.paths, dict(arguments.env), tuple(arguments.script))
    found = imported(launch, cluster)
    if arguments.strict and found.lost:
        print_diagnostics([_refused(found.lost)])
        return 1
    warnings = _unsupported(found.lost)
    if arguments.json:
        answer = imported_json(found.text, found.unknown, map(_lost_json, found.lost), warnings)
        return _write_json(arguments, found.text, answer)
    write_job(arguments.output, found.text, arguments.force)
    for name in found.unknown:
        print(f"not in the files: {name}", file=sys.stderr)
    for line in lines(found.lost):
        print(one_line(f"not in the job: {line}"), file=sys.stderr)
    print_diagnostics(warnings)
    return 0


def imported_json(
    text: str,
    missing: Iterable[str],
    lost: Iterable[JsonObject],
    warnings: Iterable[Diagnostic],
) -> JsonObject:
    """The text of the job, the settings that somebody must fill in, and what of the files it lacks."""
    return {
        "job": text,
        "missing": list(missing),
        "lost": list(lost),
        "warnings": [each.to_json() for each in warnings],
    }


def _lost_json(setting: Setting) -> JsonObject:
    from parc.reading.facts import text_of

    text = text_of(setting)
    return {"path": setting.path, "line": setting.line, "setting": setting.name, "value": text}


def _write_json(arguments: Namespace, text: str, answer: JsonObject) -> int:
    """Writes the job where a file is named for it, and prints what was read as JSON."""
    from ..printing.terminal import print_json
    from ..writing.job_file import write_job

    if arguments.output is not None:
        write_job(arguments.output, text, arguments.force)
    print_json(answer)
    return 0


def _unsupported(lost: Sequence[Setting]) -> list[Diagnostic]:
    """Unsupported features that the files train, once each, by the first setting that asks for it."""
    from parc.dsl.unsupported import of_setting

    asked = {found: each for each in reversed(lost) if (found := of_setting(each.name.strip("-")))}
    help = "the job trains another model than the files"
    return [
        Diagnostic(
            found.code,
            f"{found.message(each.name)} ({each.path}:{each.line})",
            None,
            "warning",
            help=help,
        )
        for found, each in reversed(asked.items())
    ]


def _hugging_face(paths: Sequence[str]) -> str | None:
    """The only path, where it is the config.json of a Hugging Face model or a folder that holds one, and no
    script that trains it."""
    from parc.reading.huggingface.config_settings import config_of

    if len(paths) != 1 or any(Path(paths[0]).glob("*.sh")):
        return None
    return paths[0] if config_of(Path(paths[0])) else None


def _import_model(arguments: Namespace, path: str) -> int:
    """The model alone is in the file: the rest is what a first job has."""
    from ..new_job.gpus import of_cluster
    from ..new_job.models import hugging_face_choice
    from ..new_job.write import first_job
    from ..printing.terminal import print_diagnostics
    from ..writing.job_file import write_job

    model = hugging_face_choice(path)
    if arguments.strict and model.unsaid:
        print_diagnostics([_refused_model(model.unsaid)])
        return 1
    gpus = of_cluster(arguments.cluster) if arguments.cluster else None
    job, text = first_job(model, gpus, None)
    warnings = [job.counted.warning] if job.counted.warning else []
    missing = ("cluster", "train", "target")[1 if gpus else 0 :]
    if arguments.json:
        lost: list[JsonObject] = [
            {"path": path, "line": None, "setting": str(each), "value": None}
            for each in model.unsaid
        ]
        return _write_json(arguments, text, imported_json(text, missing, lost, warnings))
    write_job(arguments.output, text, arguments.force)
    print_diagnostics(warnings)
    for name in missing:
        print(f"not in the files: {name}", file=sys.stderr)
    for each in model.unsaid:
        print(f"not in the job: {each}", file=sys.stderr)
    return 0


def _refused_model(unsaid: Sequence[object]) -> Diagnostic:
    notes = tuple(Note(str(each)) for each in unsaid)
    return _lost(len(unsaid), notes)


def _refused(lost: Sequence[Setting]) -> Diagnostic:
    from parc.lint.unexpressed import lines

    return _lost(len(lost), tuple(Note(line) for line in lines(lost)))


def _lost(count: int, notes: tuple[Note, ...]) -> Diagnostic:
    settings = "1 setting" if count == 1 else f"{count} settings"
    return Diagnostic(
        codes.LOST,
        f"{settings} of the files would be lost",
        notes=notes,
        help="without --strict they are listed, and stand in the job as comments",
    )
