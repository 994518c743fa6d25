"""Peaks that a run may have, and a GPU's memory -> how likely it fits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Doubt:
    """How far a forecast may be off; the values are the median of those fitted to half of the sources of
    benchmarks/data/tuning_public.csv in 13 seeded splits (benchmarks/accuracy/fit_tuning.py)."""

    #: Deviation of the logarithm of the true peak over the predicted one of a run whose settings are known.
    spread: float = 0.25
    #: No forecast is surer than this: runs fail while they load, or for what else runs on their cards.
    surest: float = 0.92


#: The doubt of every forecast.
DOUBT = Doubt()


def likely_to_fit(
    peaks: Iterable[tuple[float, float]],
    memory: float,
    doubt: Doubt = DOUBT,
) -> float:
    """The probability that a run fits a GPU's memory; `peaks` are the chance and the bytes of each peak that
    it may have."""
    chance = sum(share * _below(memory, peak, doubt.spread) for share, peak in peaks)
    return 1 - doubt.surest + chance * (2 * doubt.surest - 1)


def _below(memory: float, peak: float, spread: float) -> float:
    distance = math.log(memory / max(peak, 1.0))
    return 0.5 * (1 + math.erf(distance / spread / math.sqrt(2)))
