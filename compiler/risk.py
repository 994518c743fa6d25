"""The chance that a run needs more memory than it finds."""

from __future__ import annotations

from math import erf, inf, log, sqrt

#: Standard deviation of ln(measured / predicted bytes): the median over sources of its root mean square
#: (benchmarks/accuracy.py, `memory.spread`); between 0.08 and 0.10 without any one of them.
SPREAD = 0.09


def out_of_memory(needed_bytes: float, found_bytes: float) -> float:
    """Chance, 0 to 1, that a prediction of `needed_bytes` turns out above `found_bytes`, when the ratio of
    measured to predicted bytes is log-normal about 1."""
    if needed_bytes <= 0:
        return 0.0
    distance = log(needed_bytes / found_bytes) / SPREAD if found_bytes > 0 else inf
    return 0.5 * (1.0 + erf(distance / sqrt(2.0)))
