"""Columns of integer intervals, with the arithmetic that totals are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dsl.arrays import np

if TYPE_CHECKING:
    from .algebra import Integers


@dataclass(frozen=True)
class Range:
    """Integers from `low` to `high`, one interval for each row; the same array twice where all are exact."""

    low: Integers
    high: Integers

    @property
    def exact(self) -> bool:
        return self.low is self.high

    def __add__(self, other: Range | int) -> Range:
        other = interval(other)
        low = np.asarray(self.low + other.low)
        both = self.exact and other.exact
        return Range(low, low if both else np.asarray(self.high + other.high))

    __radd__ = __add__

    def __neg__(self) -> Range:
        low = np.asarray(-self.high)
        return Range(low, low if self.exact else np.asarray(-self.low))

    def __sub__(self, other: Range | int) -> Range:
        return self + -interval(other)

    def __rsub__(self, other: int) -> Range:
        return interval(other) + -self

    def __mul__(self, factor: int) -> Range:
        ends = self if factor >= 0 else Range(self.high, self.low)
        low = np.asarray(ends.low * factor)
        return Range(low, low if self.exact else np.asarray(ends.high * factor))

    __rmul__ = __mul__


def interval(value: Range | int) -> Range:
    """A number as an interval; intervals stay as they are."""
    if isinstance(value, Range):
        return value
    one = np.asarray(value, dtype=np.int64)
    return Range(one, one)
