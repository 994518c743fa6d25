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
#: Share of the reports beyond which those that are off the pace are no stalls, but another pace.
STALLS = 0.25
#: Standard deviations of a normal distribution in its median absolute deviation: 1 / Phi^-1(3/4).
STD_PER_MAD = 1.4826


@dataclass(frozen=True)
class SteadyState:
    """`seconds` is the median step; `spread` a robust standard deviation as a share of it, from the median
    absolute deviation. Of all reports, `reports` were used and `dropped` were not, `early` of them because a
    run became faster or slower and stayed so: their median is `early_seconds`. `odd` of those that were used
    are of another pace, of `odd_seconds`; 0 where it is stalls alone."""

    seconds: float
    spread: float
    reports: int
    dropped: int
    early: int = 0
    early_seconds: float = 0.0
    odd: int = 0
    odd_seconds: float = 0.0


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
    first, kept = kept[:unlike], kept[unlike:]
    middle, spread = _middle(kept)
    odd = _off_pace(kept)
    return SteadyState(
        seconds=middle,
        spread=spread,
        reports=len(kept),
        dropped=len(steps) - len(kept),
        early=unlike,
        early_seconds=median(first or [0.0]),
        odd=len(odd),
        odd_seconds=median(odd or [0.0]),
    )


def _middle(seconds: Sequence[float]) -> tuple[float, float]:
    """The median, and a robust standard deviation as a share of it."""
    middle = median(seconds)
    return middle, STD_PER_MAD * median(abs(each - middle) for each in seconds) / middle


def _within(seconds: Sequence[float]) -> tuple[float, float]:
    """The median, and how far from it a step is of the same pace."""
    middle, spread = _middle(seconds)
    return middle, max(CHANGED, DEVIATIONS * spread) * middle


def _off_pace(seconds: Sequence[float]) -> list[float]:
    """Steps of another pace than the median, where they are too many for stalls."""
    middle, limit = _within(seconds)
    found = [each for each in seconds if abs(each - middle) > limit]
    return found if len(found) > STALLS * len(seconds) else []


def _unlike_later(kept: Sequence[float]) -> int:
    """How many reports at the start, in tenths of all and half of them at most, are of another pace than
    the second half, if that has one: a slow first hour, of a cold file system or a neighbour's job.
    """
    later = kept[len(kept) // 2 :]
    if _off_pace(later):
        return 0
    middle, limit = _within(later)
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
