"""Seconds of the steps of a run -> the time of its steady state and how much it varies."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

#: Reports dropped at the start and after each restart: compilation, first allocations, caches. Megatron-LM's
#: second report still holds its first step.
WARM_UP = 2
#: Share of all reports dropped at the start, where that is more.
WARM_UP_SHARE = 0.2
#: Reports without which no spread can be estimated.
FEWEST = 3
#: Standard deviations of a normal distribution in its median absolute deviation: 1 / Phi^-1(3/4).
STD_PER_MAD = 1.4826


@dataclass(frozen=True)
class SteadyState:
    """`seconds` is the median step; `spread` a robust standard deviation as a share of it, from the median
    absolute deviation. Of all reports, `reports` were used and `dropped` were not."""

    seconds: float
    spread: float
    reports: int
    dropped: int


def steady_state(steps: Sequence[tuple[int, float]]) -> SteadyState | None:
    """The median of (step number, seconds) reports after warm-up; None when fewer than `FEWEST` are left.

    The median leaves out what befalls single steps: checkpoints, evaluations, a slow file system.
    """
    kept = [seconds for seconds, warm in _with_warmth(steps) if warm]
    early = max(0, round(WARM_UP_SHARE * len(steps)) - WARM_UP)
    kept = kept[early:]
    if len(kept) < FEWEST:
        return None
    middle = median(kept)
    deviation = median(abs(seconds - middle) for seconds in kept)
    return SteadyState(middle, STD_PER_MAD * deviation / middle, len(kept), len(steps) - len(kept))


def _with_warmth(steps: Sequence[tuple[int, float]]) -> list[tuple[float, bool]]:
    """The seconds of each report, and whether it came after the warm-up of its start or restart.

    A step number that does not rise marks a restart.
    """
    found: list[tuple[float, bool]] = []
    reports, previous = 0, 0
    for step, seconds in steps:
        reports = 1 if step <= previous else reports + 1
        previous = step
        found.append((seconds, reports > WARM_UP))
    return found
