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
    spread: float = 0.2
    #: No forecast is surer than this: runs fail while they load, or for what else runs on their cards.
    surest: float = 0.94
    #: What each setting that a published report leaves open takes off the logarithm of the odds that its run
    #: fit: those who state little write because it failed. A job leaves none open.
    open_odds: float = 0.4


#: The doubt of every forecast.
DOUBT = Doubt()


def likely_to_fit(
    peaks: Iterable[tuple[float, float]],
    memory: float,
    open_settings: int = 0,
    doubt: Doubt = DOUBT,
) -> float:
    """The probability that a run fits a GPU's memory; `peaks` are the chance and the bytes of each peak that
    it may have, `open_settings` how many settings its report does not state."""
    chance = sum(share * _below(memory, peak, doubt.spread) for share, peak in peaks)
    chance = 1 - doubt.surest + chance * (2 * doubt.surest - 1)
    odds = chance / (1 - chance) * math.exp(-doubt.open_odds * open_settings)
    return odds / (1 + odds)


def _below(memory: float, peak: float, spread: float) -> float:
    distance = math.log(memory / max(peak, 1.0))
    return 0.5 * (1 + math.erf(distance / spread / math.sqrt(2)))
