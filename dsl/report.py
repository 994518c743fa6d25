"""Collecting complaints: raise one with `wrong(...)`, go on after it with `report.catching()`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .diagnostics import Diagnostic, JobError, Note, Span


def wrong(
    code: str,
    message: str,
    span: Span | None = None,
    help: str | None = None,
    notes: tuple[Note, ...] = (),
) -> JobError:
    """An exception that carries one complaint."""
    return JobError([Diagnostic(code, message, span, notes=notes, help=help)])


#: Raised for what follows from an error that has been told already.
def already_told() -> JobError:
    return JobError([])


class Report:
    """The complaints about one job, in the order in which they were found."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def add(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        help: str | None = None,
        notes: tuple[Note, ...] = (),
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, notes=notes, help=help))

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Keeps the complaints of a `JobError` and goes on after the block."""
        try:
            yield
        except JobError as error:
            self.diagnostics.extend(error.diagnostics)
