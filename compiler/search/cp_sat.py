"""CP-SAT as parc runs it: one worker and a fixed seed, so answers never vary, a Ctrl-C that ends it, and a
limit on its memory."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
    from ortools.sat.python.cp_model_helper import CpSolverStatus

#: What one search may add to the memory of the process: a search of the examples and of generated jobs adds
#: less than a tenth of it. CP-SAT's own limit is not looked at while bounds close in.
MEMORY_BYTES = 2 * 2**30
WATCH_SECONDS = 0.1


def run(solver: cp_model.CpSolver, model: cp_model.CpModel) -> CpSolverStatus:
    """`solver.solve(model)`: the status that it returns. Raises KeyboardInterrupt when Ctrl-C is pressed.

    CP-SAT's own handler would take Ctrl-C for the end of the search and return what it has, as if that were
    the answer. So it is off, and the search runs in a thread beside which the main one stays interruptible.
    A search that wants too much memory ends with what it has found, or UNKNOWN.
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
    """The result of a search that is told to stop when the process has grown too large."""
    most_bytes = resident_bytes() + MEMORY_BYTES
    while True:
        try:
            return search.result(WATCH_SECONDS)
        except TimeoutError:
            if resident_bytes() > most_bytes:
                solver.stop_search()


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
