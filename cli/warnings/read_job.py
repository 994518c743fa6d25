"""A sound job as it is written: the job with the syntax tree of its own file."""

from dataclasses import dataclass

from parc.dsl.diagnostics import Diagnostic, Fix, Span
from parc.dsl.job import Job
from parc.dsl.syntax.tree import File


@dataclass(frozen=True)
class ReadJob:
    """`file` is the job's own text, without that of its imports."""

    job: Job
    file: File


def warned(
    code: str, message: str, span: Span | None, help: str, fix: Fix | None = None
) -> Diagnostic:
    """A warning at a place of the job."""
    return Diagnostic(code, message, span, "warning", help=help, fix=fix)
