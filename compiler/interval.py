"""Columns of integer intervals, with the arithmetic that totals are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ..dsl.arrays import np

if TYPE_CHECKING:
    from .algebra import Integers


class Later:
    """A column that is worked out once somebody asks for it."""

    __slots__ = ("_column", "_work")

    def __init__(self, work: Callable[[], Integers]):
        self._work: Callable[[], Integers] | None = work
        self._column: Integers | None = None

    def __call__(self) -> Integers:
        if self._work is not None:
            self._column, self._work = np.asarray(self._work()), None
        assert self._column is not None
        return self._column


End: TypeAlias = "Integers | Later"


def known(end: End) -> Integers:
    """A column, worked out if need be."""
    return end() if isinstance(end, Later) else end


class Range:
    """Integers from `low` to `high`, one interval for each row; the same array twice where all are exact. Of
    most totals only `low` matters, so `high` may come later."""

    __slots__ = ("end", "low")

    def __init__(self, low: Integers, high: End):
        self.low = low
        self.end = high

    @property
    def high(self) -> Integers:
        return known(self.end)

    @property
    def exact(self) -> bool:
        return self.low is self.end

    def __add__(self, other: Range | int) -> Range:
        other = interval(other)
        low = np.asarray(self.low + other.low)
        if self.exact and other.exact:
            return Range(low, low)
        ends = self.end, other.end
        return Range(low, Later(lambda: known(ends[0]) + known(ends[1])))

    __radd__ = __add__

    def __neg__(self) -> Range:
        low = np.asarray(-self.high)
        return Range(low, low if self.exact else np.asarray(-self.low))

    def __sub__(self, other: Range | int) -> Range:
        return self + -interval(other)

    def __rsub__(self, other: int) -> Range:
        return interval(other) + -self

    def __mul__(self, factor: int) -> Range:
        if factor < 0:
            return -self * -factor
        low, end = np.asarray(self.low * factor), self.end
        return Range(low, low if self.exact else Later(lambda: known(end) * factor))

    __rmul__ = __mul__


def interval(value: Range | int) -> Range:
    """A number as an interval; intervals stay as they are."""
    if isinstance(value, Range):
        return value
    one = np.asarray(value, dtype=np.int64)
    return Range(one, one)
