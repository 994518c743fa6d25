"""solve jobs and write the files that run them"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from threading import Thread
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from ..array_threads import load_numpy
from ..printing.terminal import print_diagnostics, print_json, print_text, progress
from .job_arguments import add_json, add_overrides, add_targets, add_verbose, load_jobs, output_path

if TYPE_CHECKING:
    from pathlib import Path

    from parc.dsl.job import Job

    from ..api import Emitted, Planned
    from ..staging import Staged
    from ..writing.output_folder import Change

NAME = "compile"
#: The plans as a page, and as a text for a pull request.
PAGE, TEXT = "report.html", "REPORT.md"


@dataclass
class _Result:
    """The files that all jobs write together; each of several jobs has a part, which is its subfolder."""

    planned: list[Planned] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    scripts: set[str] = field(default_factory=set)
    parts: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a target that was asked for has no files."""
        return any(planned.complaints for planned in self.planned)


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", nargs="+", metavar="JOB", help="a job file; each of several gets a subfolder")
    add("-o", "--output", required=True, type=output_path, metavar="DIR", help="the output folder")
    add("--check", action="store_true", help="write nothing; exit 1 if the output would change")
    add("--diff", action="store_true", help="write nothing; print what would change")
    add(
        "--keep-going",
        action="store_true",
        help="write the other targets when one has no layout or refuses the job; exit 1 all the same",
    )
    add("--force", action="store_true", help="replace files that were edited since parc wrote them")
    report = f"{PAGE} and {TEXT}, the plans as a page and as a text for a pull request, or not"
    # A default of True would be told by the help of Python 3.11 and 3.12 alone.
    add("--report", action=BooleanOptionalAction, help=f"with {report}; with them unless given")
    add_targets(parser)
    add_overrides(parser)
    add_verbose(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    from ..writing.output_folder import changes, is_launch_file, refuse_unwritable

    jobs = load_jobs(arguments.job, arguments.set)
    load_numpy()
    _refuse_equal_names(jobs)
    changes(arguments.output, {})
    writes = not (arguments.check or arguments.diff)
    if writes:
        refuse_unwritable(arguments.output)
    report = arguments.report is not False
    result = _compile(jobs, arguments.target, report, arguments.output)
    stopped = result.failed and not arguments.keep_going
    wanted = []
    if not stopped:
        inputs = (arguments.output, result.files, result.parts, result.scripts, is_launch_file)
        wanted = changes(*inputs)
    written = writes and not stopped
    if written:
        _write(arguments, wanted, result)
    _tell_leftovers(arguments.output)
    if arguments.json or not stopped:
        _report(arguments, result.planned, wanted, written)
    if written and not arguments.json:
        _print_next(result, arguments.output)
    return 1 if result.failed or (arguments.check and wanted) else 0


def _write(arguments: Namespace, wanted: Sequence[Change], result: _Result) -> None:
    """Writes what is wanted, or prints the edits that would be lost, or the plans, and raises `JobError`."""
    from ..writing.output_folder import MANIFEST, write
    from ..writing.receipts import remember

    try:
        write(arguments.output, wanted, result.scripts, arguments.force)
    except JobError as error:
        if arguments.json:
            raise
        if any(each.code == codes.UNWRITABLE for each in error.diagnostics):
            _print_plans(result.planned, arguments.verbose)
        else:
            edited = (each for each in wanted if each.edited and not each.stays)
            sys.stdout.write("".join(each.diff() for each in edited))
        raise
    for part in result.parts:
        for name in (PAGE, MANIFEST):
            if text := result.files.get(part + name):
                remember(arguments.output / part / name, text.encode())


def _print_next(result: _Result, output: Path) -> None:
    from ..printing.next_text import start_lines

    planned = [one for one in result.planned if one.plans]
    for line in start_lines(zip(result.parts, planned, strict=True), output, result.files):
        print_text(line)


def _tell_leftovers(output: Path) -> None:
    from ..writing.output_folder import leftovers

    print_diagnostics(
        Diagnostic(
            codes.LEFT_OVER,
            f"`{path}` has the name of a file that a killed run leaves: it is not read",
            help="remove it if no parc is running; what your own parc left, its next run removes",
            severity="warning",
        )
        for path in leftovers(output)
    )


def _print_plans(planned: Sequence[Planned], whole: bool) -> None:
    from ..printing.plan_text import plans_text
    from ..printing.stage_text import sum_lines
    from ..printing.summary_text import summary_text

    for one in filter(lambda one: one.plans, planned):
        print_text((plans_text if whole else summary_text)(one))
        print_text("")
    for staged in _staged(planned):
        print_text("\n".join([*sum_lines(staged), ""]))


def _compile(
    jobs: Sequence[Job], targets: Sequence[str] | None, report: bool, output: Path
) -> _Result:
    """Plans and files of all jobs; a job of which no target has a plan adds no files."""
    from parc.backends.render import load

    from ..api import emit
    from ..own_files import doubtful
    from ..resuming import broken_resumes
    from ..staging import planned_stages
    from ..writing.output_folder import MANIFEST, readable

    Thread(target=load, daemon=True).start()
    result = _Result()
    stages = (planned_stages(job, targets, progress, keep=report) for job in jobs)
    for found in chain.from_iterable(stages):
        planned, emitted = emit(found)
        complaints = [complaint for _, complaint in planned.complaints]
        doubts = doubtful(emitted.files) if planned.plans else []
        print_diagnostics(complaints + planned.warnings() + doubts)
        result.planned.append(planned)
        if not planned.plans:
            continue
        part = _part(planned.job, len(jobs) > 1)
        print_diagnostics(broken_resumes(output / part, planned.plans, emitted.files))
        earlier = readable(output / part, (MANIFEST, PAGE))
        files = output_files(planned, emitted, report, earlier, output / part / PAGE)
        result.files |= {part + path: text for path, text in files.items()}
        result.scripts |= {part + path for path in emitted.scripts}
        result.parts.append(part)
    return result


def _part(job: Job, several: bool) -> str:
    """The subfolder of a job where there are several, and below it that of a stage."""
    return "".join(f"{each}/" for each in (_whole(job) if several else "", job.stage) if each)


def _whole(job: Job) -> str:
    """The name of a job, or of that of which it is a stage."""
    return job.name.removesuffix(f"-{job.stage}") if job.stage else job.name


def output_files(
    planned: Planned,
    emitted: Emitted,
    report: bool = True,
    earlier: Mapping[str, str] | None = None,
    page: Path | None = None,
) -> dict[str, str]:
    """Every file of a job's output folder by its path: what is emitted, the report unless it is left out, and
    the `plan.json` that lists them. Where an `earlier` run wrote the same, its `page` is not drawn again.
    """
    from ..printing.plan_json import lock
    from ..writing.output_folder import MANIFEST, manifest
    from ..writing.receipts import is_remembered

    found, files = earlier or {}, dict(emitted.files)
    if report:
        from parc.report.markdown import report_markdown

        files[TEXT] = report_markdown(planned, timed=False)
        kept = {**files, PAGE: found.get(PAGE, "")}
        same = found.get(MANIFEST) == (text := lock(planned, manifest(kept)))
        if same and page and is_remembered(page, kept[PAGE].encode()):
            return {**kept, MANIFEST: text}
        files[PAGE] = _page(planned)
    return {**files, MANIFEST: lock(planned, manifest(files))}


def _page(planned: Planned) -> str:
    """The page without the seconds of the search, so that the same job gives the same bytes."""
    from parc.report.html import report_html

    return report_html(planned, timed=False)


def _refuse_equal_names(jobs: Sequence[Job]) -> None:
    counts = Counter(job.name for job in jobs)
    complaints = [
        Diagnostic(codes.SAME_NAME, f"{count} jobs are called `{name}` and would share a folder")
        for name, count in counts.items()
        if count > 1
    ]
    if complaints:
        raise JobError(complaints)


def _staged(planned: Sequence[Planned]) -> Iterator[Staged]:
    """The stages of each job that has some, together."""
    from ..staging import Staged

    for name, ones in groupby(
        (one for one in planned if one.job.stage), lambda one: _whole(one.job)
    ):
        yield Staged(name, tuple(ones))


def _report(
    arguments: Namespace, planned: Sequence[Planned], wanted: Sequence[Change], written: bool
) -> None:
    from ..printing.plan_json import planned_json

    if arguments.json:
        changed = [
            {"path": change.path, "kind": change.kind, "edited": change.edited} for change in wanted
        ]
        print_json(
            {"jobs": [planned_json(one) for one in planned], "written": written, "changes": changed}
        )
        return
    if arguments.diff:
        sys.stdout.write("".join(change.diff() for change in wanted))
        return
    if written:
        _print_plans(planned, arguments.verbose)
    verbs = (
        ("added", "changed", "removed")
        if written
        else ("would add", "would change", "would remove")
    )
    names = dict(zip(("add", "change", "remove"), verbs, strict=True))
    for change in wanted:
        kept = change.stays and not arguments.force
        verb = ("kept" if written else "would keep") if kept else names[change.kind]
        edited = ": edited by hand" if change.edited else ""
        print_text(f"{verb} {arguments.output / change.path}{edited}")
    if not wanted:
        print_text(f"{arguments.output}: nothing to change")
