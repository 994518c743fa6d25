"""Seconds of the steps of a run -> the time of its steady state and how much it varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

#: Reports dropped at the start and after each restart: compilation, first allocations, caches. Megatron-LM's
#: second report still holds its first step.
WARM_UP = 2
#: Share of all reports dropped at the start, where that is more.
WARM_UP_SHARE = 0.2
#: Reports without which there is no spread to speak of.
FEWEST = 3
#: Standard deviations of a normal distribution in its median absolute deviation.
DEVIATIONS = 1.4826


@dataclass(frozen=True)
class Steady:
    """`spread` is a robust standard deviation as a share of `seconds`; `reports` of all were used."""

    seconds: float
    spread: float
    reports: int
    dropped: int


def steady(steps: Sequence[tuple[int, float]]) -> Steady | None:
    """The median of (step, seconds) reports after warm-up; None when fewer than `FEWEST` are left.

    The median leaves out what befalls single steps: checkpoints, evaluations, a slow file system.
    """
    kept = [seconds for seconds, settled in _settled(steps) if settled]
    early = max(0, round(WARM_UP_SHARE * len(steps)) - WARM_UP)
    kept = kept[early:]
    if len(kept) < FEWEST:
        return None
    middle = median(kept)
    deviation = median(abs(seconds - middle) for seconds in kept)
    return Steady(middle, DEVIATIONS * deviation / middle, len(kept), len(steps) - len(kept))


def _settled(steps: Sequence[tuple[int, float]]) -> list[tuple[float, bool]]:
    """The seconds of each report, and whether it came after the warm-up of its start."""
    found: list[tuple[float, bool]] = []
    since, before = 0, 0
    for step, seconds in steps:
        since = 1 if step <= before else since + 1
        before = step
        found.append((seconds, since > WARM_UP))
    return found
