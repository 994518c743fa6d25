"""CP-SAT as parc runs it: one worker and a fixed seed, so answers never vary, and a Ctrl-C that ends it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run(solver: Any, model: Any) -> Any:
    """`solver.solve(model)`: the status that it returns. Raises KeyboardInterrupt when Ctrl-C is pressed.

    CP-SAT's own handler would take Ctrl-C for the end of the search and return what it has, as if that were
    the answer. So it is off, and the search runs in a thread beside which the main one stays interruptible.
    """
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(solver.solve, model)
        try:
            return search.result()
        except KeyboardInterrupt:
            solver.stop_search()
            raise
