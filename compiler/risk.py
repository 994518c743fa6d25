"""How far a run may be from its prediction: the chance to run out of memory, and the band of its speed."""

from __future__ import annotations

from math import erf, exp, inf, log, sqrt

#: Standard deviation of ln(measured / predicted bytes): the median over sources of its root mean square
#: (benchmarks/accuracy/accuracy.py, `memory.spread`: 0.074); between 0.065 and 0.082 without any one of them.
SPREAD = 0.08


def out_of_memory(needed_bytes: float, found_bytes: float) -> float:
    """Chance, 0 to 1, that a prediction of `needed_bytes` turns out above `found_bytes`, when the ratio of
    measured to predicted bytes is log-normal about 1."""
    if needed_bytes <= 0:
        return 0.0
    distance = log(needed_bytes / found_bytes) / SPREAD if found_bytes > 0 else inf
    return 0.5 * (1.0 + erf(distance / sqrt(2.0)))


#: Deviations on either side of the middle that hold four of five normal values.
FOUR_OF_FIVE = 1.2816


def band(value: float, spread: float) -> tuple[float, float]:
    """The range that holds four of five measurements of a quantity predicted as `value`, when the logarithm
    of their ratio is normal about 0 with deviation `spread`."""
    return value * exp(-FOUR_OF_FIVE * spread), value * exp(FOUR_OF_FIVE * spread)
