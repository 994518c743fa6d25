"""Whether a pattern's time grows faster than the text, in CPU seconds of its own process."""

from __future__ import annotations

import math
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.patterns.attacks import Attack

#: Characters of the first try, and what it may take: a linear pattern takes a twentieth of that.
FIRST, SUSPECT_SECONDS = 8_000, 0.0015
#: Sizes whose times are compared where the first try took longer.
SIZES = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
#: Times below it are noise; a search that took long enough is not tried with a longer text.
LEAST_SECONDS, ENOUGH_SECONDS = 0.0005, 0.04
#: A search is stopped after it.
MOST_SECONDS = 0.5
#: The growth that fails: 1 is linear, 2 is quadratic.
EXPONENT = 1.5
#: No larger sizes are tried below it.
CLEARLY_LINEAR = 1.2
#: Every try must fail.
TRIES = 2


@dataclass(frozen=True)
class Grows:
    """A text for which a pattern's time grows with this power of the size."""

    attack: Attack
    exponent: float
    seconds: float
    size: int

    def __str__(self) -> str:
        start, unit, end = self.attack.start, self.attack.unit, self.attack.end
        cost = f"exponent {self.exponent:.1f}, {self.seconds:.2f} s for {self.size:,} characters"
        return f"{start!r} + {unit!r} * n + {end!r}: {cost}"


class _Late(Exception):
    pass


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Interrupts what runs after so many CPU seconds; `re` looks for signals while it searches."""

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def search_of(pattern: re.Pattern[str] | re.Pattern[bytes], method: str) -> Callable[[str], object]:
    search = getattr(pattern, "findall" if method == "finditer" else method)
    if isinstance(pattern.pattern, bytes):
        return lambda text: search(text.encode())
    found: Callable[[str], object] = search
    return found


def grows(search: Callable[[str], object], attack: Attack) -> Grows | None:
    """None where time grows like the text."""
    if _seconds(search, attack.text(FIRST)) < SUSPECT_SECONDS:
        return None
    found = None
    for _ in range(TRIES):
        found = _growth(search, attack)
        if found is None or found.exponent == math.inf:
            return found
    return found


def _growth(search: Callable[[str], object], attack: Attack) -> Grows | None:
    times: list[tuple[int, float]] = []
    for size in SIZES:
        seconds = min(_seconds(search, attack.text(size)) for _ in range(2))
        if seconds >= LEAST_SECONDS:
            times.append((size, seconds))
        enough = seconds > ENOUGH_SECONDS or _exponent(times) < CLEARLY_LINEAR
        if seconds >= MOST_SECONDS or (len(times) > 1 and enough):
            break
    if times and times[-1][1] >= MOST_SECONDS:  # stopped: a linear one takes a hundredth of it
        return Grows(attack, math.inf, times[-1][1], times[-1][0])
    if len(times) < 2:
        return None
    exponent = _exponent(times)
    return Grows(attack, exponent, times[-1][1], times[-1][0]) if exponent > EXPONENT else None


def _exponent(times: Sequence[tuple[int, float]]) -> float:
    """Over the last sizes, since what a search costs at once counts for less there."""
    if len(times) < 2:
        return math.inf
    (small, first), (size, last) = times[-min(3, len(times))], times[-1]
    return math.log(last / first) / math.log(size / small)


def _seconds(search: Callable[[str], object], text: str) -> float:
    """At most a little over `MOST_SECONDS`."""
    started = time.thread_time()
    try:
        with _limit(MOST_SECONDS):
            search(text)
    except _Late:
        return max(MOST_SECONDS, time.thread_time() - started)
    return time.thread_time() - started
