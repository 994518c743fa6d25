"""A condition -> the moment in which it holds, or an error that names it."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Raises TimeoutError naming `what` when the condition does not hold in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.05)
