"""numpy for commands that multiply no large matrices: loaded without the threads that would wait for some."""

from __future__ import annotations

import os
import sys

#: What OpenBLAS, which numpy's wheels bring along, takes for the number of its threads.
VARIABLE = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Load numpy with one thread, unless the environment says how many; programs that parc starts do not see
    it. The threads take a third of the time of loading numpy on two cores, and more on more."""
    if "numpy" in sys.modules or VARIABLE in os.environ:
        return
    os.environ[VARIABLE] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[VARIABLE]
