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
#: A pace is another when its median differs by more than this share of a step, and by more than so many
#: standard deviations of the later steps; it is looked for in tenths of all reports.
CHANGED, DEVIATIONS, TENTHS = 0.05, 3.0, 10
#: Standard deviations of a normal distribution in its median absolute deviation: 1 / Phi^-1(3/4).
STD_PER_MAD = 1.4826


@dataclass(frozen=True)
class SteadyState:
    """`seconds` is the median step; `spread` a robust standard deviation as a share of it, from the median
    absolute deviation. Of all reports, `reports` were used and `dropped` were not, `early` of them because a
    run became faster or slower and stayed so."""

    seconds: float
    spread: float
    reports: int
    dropped: int
    early: int = 0


def steady_state(steps: Sequence[tuple[int, float]]) -> SteadyState | None:
    """The median of (step number, seconds) reports after warm-up; None when fewer than `FEWEST` are left.

    The median leaves out what befalls single steps: checkpoints, evaluations, a slow file system.
    """
    kept = [seconds for seconds, warm in _with_warmth(steps) if warm]
    early = max(0, round(WARM_UP_SHARE * len(steps)) - WARM_UP)
    kept = kept[early:]
    if len(kept) < FEWEST:
        return None
    unlike = _unlike_later(kept)
    kept = kept[unlike:]
    middle, spread = _middle(kept)
    return SteadyState(middle, spread, len(kept), len(steps) - len(kept), unlike)


def _middle(seconds: Sequence[float]) -> tuple[float, float]:
    """The median, and a robust standard deviation as a share of it."""
    middle = median(seconds)
    return middle, STD_PER_MAD * median(abs(each - middle) for each in seconds) / middle


def _unlike_later(kept: Sequence[float]) -> int:
    """How many reports at the start, in tenths of all and half of them at most, are of another pace than
    the second half: a slow first hour, of a cold file system or a neighbour's job."""
    middle, spread = _middle(kept[len(kept) // 2 :])
    limit = max(CHANGED, DEVIATIONS * spread) * middle
    size, unlike = max(len(kept) // TENTHS, FEWEST), 0
    while 2 * (unlike + size) <= len(kept):
        if abs(median(kept[unlike : unlike + size]) - middle) <= limit:
            break
        unlike += size
    return unlike


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
