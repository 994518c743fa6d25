"""A job file -> all that can be said of it without solving, and its text after the cures."""

from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass

from parc.backends import OPTIONS, TARGETS
from parc.dsl.check import read_job
from parc.dsl.diagnostics import Diagnostic, JobError, Source
from parc.dsl.fixes import applied
from parc.dsl.job import Job
from parc.dsl.open_settings import settled
from parc.dsl.syntax.sources import read
from parc.dsl.syntax.tree import File
from parc.warnings import warnings
from parc.warnings.read_job import ReadJob

#: Rounds after which cures that undo each other end: one uncovers the next.
ROUNDS = 10


@dataclass(frozen=True)
class Checked:
    """`code` is 2 for a job that cannot be read, 1 for one that a target refuses in every layout, else 0."""

    code: int
    diagnostics: tuple[Diagnostic, ...]


def checked(path: str, overrides: Sequence[str] = (), text: str | None = None) -> Checked:
    """The complaints about a file, or of a text in its place: errors, refusals of its targets, warnings."""
    try:
        job, file = read_job(path, tuple(overrides), OPTIONS, text)
    except JobError as error:
        return Checked(2, error.diagnostics)
    refused = dict.fromkeys(
        said
        for each in job.stages or (job,)
        for spec in each.targets
        for said in _refused(each, spec.name)
    )
    warned = _accepted(list(warnings(ReadJob(job, file))), file)
    return Checked(1 if refused else 0, (*refused, *warned))


def _refused(job: Job, target: str) -> list[Diagnostic]:
    """The complaints of a target about every choice of the settings that the job leaves open: of the
    preferred one."""
    found = [TARGETS[target].target.refuses(each) for _, each in settled(job, target)]
    return found[0] if all(found) else []


def _accepted(found: list[Diagnostic], file: File) -> list[Diagnostic]:
    """The warnings less what the job's comments accept, and the comments that accept nothing."""
    if "parc:" not in file.source.text:
        return found
    from parc.warnings.accepted import accepted

    return accepted(found, file.source)


def mended(path: str, overrides: Sequence[str], unsafe: bool = False) -> tuple[bytes, bytes, int]:
    """A file before and after its cures, and their number; `unsafe` ones only where asked for.

    Raises `JobError` for a file that cannot be read.
    """
    source, before = read(path, path)
    total = 0
    for _ in range(ROUNDS):
        found = checked(path, overrides, source.text).diagnostics
        fixes = [each.fix for each in found if each.fix and (each.fix.safe or unsafe)]
        text, count = applied(source, fixes)
        if not count:
            break
        source, total = Source(path, text), total + count
    mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
    return before, mark + source.text.encode() if total else before, total
