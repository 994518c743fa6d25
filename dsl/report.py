"""Collecting complaints: raise one with `wrong(...)`, go on after it with `report.catching()`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .diagnostics import Diagnostic, Fix, JobError, Note, Span


def wrong(
    code: str,
    message: str,
    span: Span | None = None,
    help: str | None = None,
    notes: tuple[Note, ...] = (),
    fix: Fix | None = None,
) -> JobError:
    """An exception that carries one complaint."""
    return JobError([Diagnostic(code, message, span, notes=notes, help=help, fix=fix)])


def already_reported() -> JobError:
    """An exception for what follows from an error that is in the report already."""
    return JobError([])


class Enough(Exception):
    """A report has taken as many complaints as it wants."""


class Report:
    """The complaints about one job, in the order of their finding; more than `limit` raise `Enough`."""

    def __init__(self, limit: int | None = None) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.limit = limit

    def add(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        help: str | None = None,
        notes: tuple[Note, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        self.extend([Diagnostic(code, message, span, notes=notes, help=help, fix=fix)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics.extend(diagnostics)
        if self.limit is not None and len(self.diagnostics) > self.limit:
            raise Enough

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Keeps the complaints of a `JobError` and goes on after the block."""
        try:
            yield
        except JobError as error:
            self.extend(error.diagnostics)
