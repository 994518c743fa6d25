"""A CP-SAT model and its solver -> the status of a deterministic run (one worker, fixed seed), which Ctrl-C
interrupts and a limit on memory stops.

A run searches in a thread of its own, so that the main thread stays interruptible, and may prepare the next
search meanwhile: a search that does is a generator, which yields its runs and is sent their statuses.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
    from ortools.sat.python.cp_model_helper import CpSolverStatus

#: What one search may add to the resident memory of the process: searches of the examples and of generated
#: jobs add less than a tenth of it. CP-SAT does not check its own limit while it propagates bounds.
MEMORY_BYTES = 2 * 2**30
#: What searches that wait for their solvers may hold before another one begins.
STANDBY_BYTES = 2**28
WATCH_SECONDS = 0.1

T = TypeVar("T")


class Run:
    """`solver.solve(model)` in a thread, from now on.

    CP-SAT's own handler would end the search at Ctrl-C and return the incumbent as if it were the answer, so
    it is off.
    """

    def __init__(self, solver: cp_model.CpSolver, model: cp_model.CpModel):
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.catch_sigint_signal = False
        self._solver = solver
        #: Resident memory of the process at which the run is stopped.
        self.most_bytes = resident_bytes() + MEMORY_BYTES
        self.search: Future[CpSolverStatus] = Future()
        pool = ThreadPoolExecutor(1)
        try:
            self.search = pool.submit(solver.solve, model)
        except RuntimeError as error:  # of `threading`: no memory for the stack of a thread
            self.search.set_exception(MemoryError(str(error)))
        pool.shutdown(wait=False)

    @property
    def status(self) -> CpSolverStatus:
        """The status of a run that has ended: where it needed too much memory that of its incumbent, UNKNOWN
        without."""
        from ortools.sat.python import cp_model

        try:
            return self.search.result()
        except MemoryError:
            return cp_model.UNKNOWN

    def watch(self) -> None:
        """Stop the run once it has added MEMORY_BYTES to the process."""
        if resident_bytes() > self.most_bytes:
            self.stop()

    def stop(self) -> None:
        self._solver.stop_search()


#: A search: it yields what it waits for, is sent the status, and returns its result.
Steps = Generator[Run, "CpSolverStatus", T]


def run(solver: cp_model.CpSolver, model: cp_model.CpModel) -> CpSolverStatus:
    """The status of one run. Raises KeyboardInterrupt when Ctrl-C is pressed."""
    return finish(_one(solver, model))


def _one(solver: cp_model.CpSolver, model: cp_model.CpModel) -> Steps[CpSolverStatus]:
    return (yield Run(solver, model))


def finish(steps: Steps[T]) -> T:
    """The result of one search."""
    return side_by_side([steps])[0]


def side_by_side(searches: Iterable[Steps[T]]) -> list[T]:
    """Results of searches in their order; while the solvers of some run, others are prepared.

    Raises what a search raises, and KeyboardInterrupt when Ctrl-C is pressed; no solver runs on then.
    """
    turns: _Turns[T] = _Turns()
    most_bytes = resident_bytes() + STANDBY_BYTES
    try:
        for index, steps in enumerate(searches):
            while turns.waiting and resident_bytes() > most_bytes:
                turns.await_one()
            turns.advance(index, steps, None)
        while turns.waiting:
            turns.await_one()
    except BaseException:
        turns.stop()
        raise
    return [turns.results[index] for index in sorted(turns.results)]


class _Turns(Generic[T]):
    """Searches that wait for a run each, and the results of those that have ended, by position."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[Steps[T], Run]] = {}
        self.results: dict[int, T] = {}

    def advance(self, index: int, steps: Steps[T], status: CpSolverStatus | None) -> None:
        """One search up to its next run, or to its end; what it allocates is not charged to other runs."""
        others, before = [run for _, run in self.waiting.values()], resident_bytes()
        try:
            begun = next(steps) if status is None else steps.send(status)
            self.waiting[index] = steps, begun
        except StopIteration as end:
            self.results[index] = end.value
        for run in others:
            run.most_bytes += max(0, resident_bytes() - before)

    def await_one(self) -> None:
        """Wait for the first run to end, or for a moment; go on with what it belongs to."""
        wait([run.search for _, run in self.waiting.values()], WATCH_SECONDS, FIRST_COMPLETED)
        for index, (steps, run) in list(self.waiting.items()):
            if run.search.done():
                del self.waiting[index]
                return self.advance(index, steps, run.status)
            run.watch()
        return None

    def stop(self) -> None:
        for _, run in self.waiting.values():
            run.stop()
        wait([run.search for _, run in self.waiting.values()])


def resident_bytes() -> int:
    """Resident memory of this process, from Linux's /proc; 0 on other systems."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
