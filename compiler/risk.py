"""A predicted value -> the probability to exceed memory, and the 80 % band of measurements.

Measured over predicted bytes is taken as Student's t with two degrees of freedom in the logarithm: its tails
are those of the measured runs (`benchmarks/accuracy/fit_memory.py` compares others), and it has an inverse.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

from ..dsl.arrays import np

if TYPE_CHECKING:
    import numpy.typing as npt

#: The least scale of ln(measured / predicted bytes): that of all measured sources together without the one
#: that agrees most, 0.052 (benchmarks/accuracy/fit_memory.py), and enough that a run a fifth below the
#: ceiling of the default risk has 1 %.
SPREAD = 0.056


def out_of_memory(needed_bytes: float, found_bytes: float, spread: float = SPREAD) -> float:
    """Probability that a run predicted to need `needed_bytes` needs more than `found_bytes`, a half where
    they are equal; `spread` is the scale of ln(measured / predicted)."""
    if needed_bytes <= 0 or found_bytes <= 0:
        return float(needed_bytes > 0)
    return float(_chance(np.array(log(needed_bytes / found_bytes) / spread)))


def out_of_memory_each(
    needed_bytes: npt.NDArray[np.float64], found_bytes: float, spread: float = SPREAD
) -> npt.NDArray[np.float64]:
    """`out_of_memory` of every number of bytes."""
    return _chance(np.log(np.maximum(needed_bytes, 1.0) / found_bytes) / spread)


def _chance(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Probability that Student's t with two degrees of freedom is below `distance`; of the lower tail written
    without a difference of near equals."""
    tail = 1.0 / (2.0 + distance**2 + np.abs(distance) * np.sqrt(2.0 + distance**2))
    return np.asarray(np.where(distance < 0, tail, 1.0 - tail))


def bytes_at(risk: float, found_bytes: float, spread: float = SPREAD) -> float:
    """Predicted bytes whose `out_of_memory` is `risk`: 0 for none, infinite for certainty."""
    if not 0 < risk < 1:
        return 0.0 if risk <= 0 else inf
    return found_bytes * exp(spread * (2 * risk - 1) / sqrt(2 * risk * (1 - risk)))


#: Standard deviations on either side of the mean that hold four fifths of a normal distribution.
FOUR_OF_FIVE = 1.2816


def band(value: float, spread: float) -> tuple[float, float]:
    """The range that holds four fifths of the measurements of a quantity predicted as `value`: up to
    FOUR_OF_FIVE * `spread` away in the logarithm."""
    return value * exp(-FOUR_OF_FIVE * spread), value * exp(FOUR_OF_FIVE * spread)
