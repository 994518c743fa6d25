"""Limits of time for the longest searches, as multiples of what another search takes on the machine.

Processor seconds of one and the same search differ by half as other machines use the memory beside this one.
"""

from __future__ import annotations

from functools import cache

from benchmarks.hostile_solves import SOLVES, cost

#: What the longest searches take on two quiet cores, and how many times the search of `_unit` they may take:
#: measured beside it they take 9 to 12.
MOST_SECONDS, MOST_TIMES = 60, 14


def in_time(seconds: float) -> bool:
    """Whether one of the longest searches may take so many processor seconds now."""
    return seconds < MOST_SECONDS or seconds < MOST_TIMES * _unit()


@cache
def _unit() -> float:
    """Processor seconds of Llama 3 405B on any number of nodes, measured once for each process."""
    return cost(str(SOLVES["405b nodes 1..4096"])).cpu_seconds
