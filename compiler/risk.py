"""A predicted value -> the probability to exceed memory, and the 80 % band of measurements."""

from collections.abc import Callable
from math import erf, exp, inf, log, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

#: Standard deviation of ln(measured / predicted bytes): the median over sources of its root mean square
#: (benchmarks/accuracy/accuracy.py, `memory.spread`: 0.074); between 0.065 and 0.082 without any one of them.
SPREAD = 0.08


def out_of_memory(needed_bytes: float, found_bytes: float) -> float:
    """Probability that a run predicted to need `needed_bytes` needs more than `found_bytes`; the ratio of
    measured to predicted bytes is log-normal with median 1 and deviation SPREAD."""
    if needed_bytes <= 0:
        return 0.0
    distance = log(needed_bytes / found_bytes) / SPREAD if found_bytes > 0 else inf
    return 0.5 * (1.0 + erf(distance / sqrt(2.0)))


def out_of_memory_each(
    needed_bytes: npt.NDArray[np.float64], found_bytes: float
) -> npt.NDArray[np.float64]:
    """`out_of_memory` of every number of bytes."""
    distance = np.log(np.maximum(needed_bytes, 1.0) / found_bytes) / (SPREAD * sqrt(2.0))
    values: Callable[[float], float] = erf
    found = np.fromiter(map(values, np.ravel(distance).tolist()), float, distance.size)
    return 0.5 * (1.0 + found.reshape(distance.shape))


def bytes_at(risk: float, found_bytes: float) -> float:
    """Predicted bytes whose `out_of_memory` is `risk`: 0 for none, infinite for certainty."""
    if not 0 < risk < 1:
        return 0.0 if risk <= 0 else inf
    return found_bytes * exp(SPREAD * NormalDist().inv_cdf(risk))


#: Standard deviations on either side of the mean that hold four fifths of a normal distribution.
FOUR_OF_FIVE = 1.2816


def band(value: float, spread: float) -> tuple[float, float]:
    """The range that holds four fifths of the measurements of a quantity predicted as `value`; ln(measured /
    predicted) is normal with mean 0 and standard deviation `spread`."""
    return value * exp(-FOUR_OF_FIVE * spread), value * exp(FOUR_OF_FIVE * spread)
