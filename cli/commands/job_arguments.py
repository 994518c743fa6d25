"""Arguments that several commands share, and the job that they name."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ActionsContainer
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import parc
from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from .. import codes

if TYPE_CHECKING:
    from parc.dsl.job import Job


#: In place of a file's name.
STANDARD_INPUT = "-"


def standard_input() -> bytes:
    """A job from standard input. Raises `JobError` where it is longer than a job may be."""
    from parc.dsl.codes import TOO_LARGE
    from parc.dsl.report import wrong
    from parc.dsl.syntax.sources import MAX_BYTES

    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise wrong(TOO_LARGE, f"standard input is longer than {MAX_BYTES:,} bytes")
    return data


def add_overrides(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="override a setting, such as train.seq_len=4096; may be repeated",
    )


def add_stage(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--stage", metavar="NAME", help="only this stage of a job that is trained in several"
    )


def add_targets(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        action="append",
        metavar="T",
        help="only this target of the job; may be repeated",
    )


def add_verbose(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="the whole of it: memory and time by part, checkpoints, runners-up, proof, what the terms mean",
    )


def add_json(parser: _ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def output_path(text: str) -> Path:
    """A path to write to. An empty text, as from an unset variable, would be the current folder: refused."""
    if not text:
        raise ArgumentTypeError("the path is empty")
    return Path(text)


def load_job(arguments: Namespace, all_stages: bool = False) -> Job:
    """The job, or the stage of it that is named. Raises `JobError` where none of several is, unless the
    command takes `all_stages`."""
    from parc.compiler.stages import refuse_stages

    job = parc.load(arguments.job, arguments.set)
    wanted = getattr(arguments, "stage", None)
    if wanted is None:
        if not all_stages:
            refuse_stages(job)
        return job
    known = {stage.stage: stage for stage in job.stages}
    if wanted not in known:
        help = did_you_mean(wanted, known) or (
            f"it has {', '.join(known)}" if known else "it is trained in one"
        )
        message = f"{job.name} has no stage `{wanted}`"
        raise JobError([Diagnostic(codes.NO_STAGE, message, help=help)])
    return known[wanted]


def load_jobs(paths: Iterable[str], overrides: Iterable[str]) -> list[Job]:
    """Every job; raises `JobError` with the complaints about all of them."""
    jobs: list[Job] = []
    complaints: list[Diagnostic] = []
    for path in paths:
        try:
            jobs.append(parc.load(path, overrides))
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError(complaints)
    return jobs
