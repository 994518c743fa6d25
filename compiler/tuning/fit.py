"""A peak and a GPU's memory -> how likely a run fits."""

from __future__ import annotations

import math

#: Deviation of the logarithm of the true peak over the predicted one where all settings are stated, what each
#: open one adds to its square, and by how much each raises the peak: what a report leaves open was seldom
#: small (fitted to benchmarks/data/tuning_public.csv by benchmarks/accuracy/tuning.py).
SPREAD, OPEN_SPREAD, OPEN_SHIFT = 0.2, 0.5, 0.2
#: No forecast is surer than this: runs fail while they load, or for what else runs on their cards.
SUREST = 0.94


def likely_to_fit(peak: float, memory: float, open_settings: int = 0) -> float:
    """The probability that a run of a predicted peak, in bytes, fits a GPU's memory, where so many settings
    that decide the peak are not stated."""
    spread = math.sqrt(SPREAD**2 + open_settings * OPEN_SPREAD**2)
    distance = math.log(memory / max(peak, 1.0)) - OPEN_SHIFT * open_settings
    chance = 0.5 * (1 + math.erf(distance / spread / math.sqrt(2)))
    return 1 - SUREST + chance * (2 * SUREST - 1)
