"""A job and a grid -> the rows that the results lack, solved here or by Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import parc
from parc.dsl.diagnostics import JobError

from .grid import Grid, overrides
from .point import refused
from .results import Results

if TYPE_CHECKING:
    from ..printing.plan_json import JsonObject
    from .solver_processes import Task

#: Tasks -> their rows by number, in any order.
Solver = Callable[[Iterable["Task"], Sequence[str]], Iterator[tuple[int, "JsonObject"]]]


def complete(
    results: Results,
    job: str,
    grid: Grid,
    fixed: Sequence[str],
    targets: Sequence[str],
    solver: Solver,
    advance: Callable[[], object],
) -> None:
    """Solve every point that the results lack and append its row; `advance` is called after each.

    Points that are no job, as where a batch does not divide, are rows too. Raises `JobError` where rows
    cannot be written.
    """

    def tasks() -> Iterator[Task]:
        for point in range(len(grid)):
            if point in results:
                continue
            try:
                yield point, parc.load(job, [*fixed, *overrides(grid.at(point))])
            except JobError as error:
                results.add(point, refused(error.diagnostics, targets))
                advance()

    for point, row in solver(tasks(), targets):
        results.add(point, row)
        advance()
