"""A CP-SAT model and its solver -> the status of a deterministic run (one worker, fixed seed), which Ctrl-C
interrupts and a limit on memory stops."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
    from ortools.sat.python.cp_model_helper import CpSolverStatus

#: What one search may add to the resident memory of the process: searches of the examples and of generated
#: jobs add less than a tenth of it. CP-SAT does not check its own limit while it propagates bounds.
MEMORY_BYTES = 2 * 2**30
WATCH_SECONDS = 0.1


def run(solver: cp_model.CpSolver, model: cp_model.CpModel) -> CpSolverStatus:
    """The status of `solver.solve(model)`. Raises KeyboardInterrupt when Ctrl-C is pressed.

    CP-SAT's own handler would end the search at Ctrl-C and return the incumbent as if it were the answer, so
    it is off, and the search runs in a second thread while the main thread stays interruptible.
    A search that needs too much memory ends with its incumbent, or UNKNOWN without one.
    """
    from ortools.sat.python import cp_model

    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as pool:
        try:
            search = pool.submit(solver.solve, model)
        except RuntimeError:  # of `threading`: no memory for the stack of a thread
            return cp_model.UNKNOWN
        try:
            return _watched(solver, search)
        except MemoryError:
            return cp_model.UNKNOWN
        except KeyboardInterrupt:
            solver.stop_search()
            raise


def _watched(solver: cp_model.CpSolver, search: Future[CpSolverStatus]) -> CpSolverStatus:
    """The status of a search, which is stopped once it has added MEMORY_BYTES to the process."""
    most_bytes = resident_bytes() + MEMORY_BYTES
    while True:
        try:
            return search.result(WATCH_SECONDS)
        except TimeoutError:
            if resident_bytes() > most_bytes:
                solver.stop_search()


def resident_bytes() -> int:
    """Resident memory of this process, from Linux's /proc; 0 on other systems."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
