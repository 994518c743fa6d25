"""Cost terms: small vectorised functions of few variables, and the algebras that combine them.

`time/step.py` and `memory/peak.py` define every total once, over an `Algebra`. `Arrays` evaluates columns of
layouts with numpy, `Numbers` one layout; `search/ranges.py` bounds columns of blocks of layouts;
`search/cp_sat_algebra.py` builds expressions of CP-SAT variables.
All compute the same integers (nanoseconds, KiB, ...), so the sweep and the solver have the same optimum.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, overload

from ..dsl.arrays import np
from .interval import Range

if TYPE_CHECKING:
    import numpy.typing as npt

    from .case import Case

Integers: TypeAlias = "npt.NDArray[np.int64]"
#: One boolean per layout.
Mask: TypeAlias = "npt.NDArray[np.bool_]"
#: One number per layout.
Array: TypeAlias = "npt.NDArray[Any]"
#: Values of a variable or a cost term: one number per layout, or one number for all layouts.
Column: TypeAlias = "Array | float"
#: Units of the integers that totals are made of: bytes in a KiB, nanoseconds in a second, and the parameters
#: in a Ki- and a Mi-parameter.
KIB, NANO, KIBI, MEBI = 1024, 1e9, 2**10, 2**20
#: Terms and products saturate here, far above any valid total, so that sums of them stay below 2**63.
LIMIT = 2**53


@dataclass(frozen=True)
class Bounded:
    """A linear expression of CP-SAT with a lower and an upper bound on its value."""

    expression: Any
    low: int
    high: int

    def __add__(self, other: Bounded | int) -> Bounded:
        other = constant(other)
        return Bounded(
            self.expression + other.expression, self.low + other.low, self.high + other.high
        )

    __radd__ = __add__

    def __sub__(self, other: Bounded | int) -> Bounded:
        other = constant(other)
        return Bounded(
            self.expression - other.expression, self.low - other.high, self.high - other.low
        )

    def __rsub__(self, other: int) -> Bounded:
        return constant(other) - self

    def __mul__(self, factor: int) -> Bounded:
        ends = sorted((self.low * factor, self.high * factor))
        return Bounded(self.expression * factor, ends[0], ends[1])

    __rmul__ = __mul__


def constant(value: Bounded | int) -> Bounded:
    """A number as an expression; expressions stay as they are."""
    return value if isinstance(value, Bounded) else Bounded(int(value), int(value), int(value))


#: The values of an algebra: a number, a column of numbers or of intervals, or an expression of the solver.
Value = TypeVar("Value", int, Integers, Range, Bounded)


@dataclass(frozen=True)
class Term:
    """A function of a case and the integer columns `of`, rounded up to whole `unit`s."""

    name: str
    unit: str
    of: tuple[str, ...]
    function: Callable[..., Column]

    def __call__(self, case: Case, columns: Mapping[str, Column]) -> Integers:
        values = self.function(case, *(np.asarray(columns[name]) for name in self.of))
        rounded = np.ceil(np.asarray(values, dtype=np.float64) - 1e-9)
        return np.asarray(np.minimum(rounded, LIMIT), dtype=np.int64)


def term(unit: str, of: Sequence[str]) -> Callable[[Callable[..., Column]], Term]:
    """Declare a cost term: `of` names the columns, equally long arrays, that the function takes after the
    case."""
    return lambda function: Term(function.__name__, unit, tuple(of), function)


def by_stage(value: Callable[[int], float], zero: Column) -> Array:
    """A property of ZeRO stages 0 to 3, looked up for a column of stages."""
    found: Array = np.array([value(stage) for stage in range(4)])[np.asarray(zero)]
    return found


@overload
def whole(value: float) -> int: ...
@overload
def whole(value: npt.NDArray[np.float64]) -> Integers: ...
def whole(value: Column) -> Integers | int:
    """The nearest whole number, or those of an array."""
    return np.rint(value).astype(np.int64) if isinstance(value, np.ndarray) else round(value)


class Algebra(Protocol[Value]):
    """The operations that totals are built from; values also support +, - and multiplication by an int."""

    case: Case

    def number(self, value: int) -> Value: ...
    def variable(self, name: str) -> Value: ...
    def term(self, term: Term) -> Value: ...
    def times(self, left: Value | int, right: Value | int) -> Value: ...
    def over(self, value: Value | int, divisor: Value | int) -> Value:
        """Floor division of non-negative values."""

    def over_beside(self, value: Value, divisor: Value, beside: Value) -> Value:
        """`value // divisor` of non-negative values, in a sum that contains `beside`."""

    def share(self, part: Value, whole: Value, parts: int) -> Value:
        """`part * parts // whole`."""

    def largest(self, *values: Value | int) -> Value: ...
    def excess(self, value: Value | int, limit: Value | int) -> Value:
        """max(value - limit, 0)."""

    def excess_beside(self, value: Value, limit: Value) -> Value:
        """`excess`, in a sum that contains `limit` and of which no other part falls as `limit` rises."""

    def replaced(self, count: Value, part: Value, each: Value, other: Value) -> Value:
        """`each` of `count` things, none negative, but `other` of `part` of them."""


def replaced(x: Algebra[Value], count: Value, part: Value, each: Value, other: Value) -> Value:
    """`Algebra.replaced` by the operations of the algebra."""
    return x.times(x.largest(count - part, 0), each) + x.times(part, other)


def added(x: Algebra[Value], values: Iterable[Value]) -> Value:
    """The sum of values; 0 if there are none."""
    return reduce(operator.add, values, x.number(0))


#: Rows priced at a time: so few that intermediate columns stay in the CPU cache, so many that the calls of
#: numpy are a small part of the time. Four times as many take a tenth longer.
BLOCK = 1 << 13


def product(left: Integers | int, right: Integers | int) -> Integers:
    """left * right, at most LIMIT in size."""
    if _size(left) * _size(right) <= LIMIT:
        return np.asarray(left * right)
    wide = np.multiply(left, right, dtype=np.float64)
    exact = np.abs(wide) <= LIMIT
    if np.all(exact):
        return np.asarray(left * right)
    return np.where(exact, left * np.where(exact, right, 0), np.where(wide > 0, LIMIT, -LIMIT))


def _size(value: Integers | int) -> int:
    """The largest size of a column's values; of a number its own."""
    if not isinstance(value, np.ndarray):
        return abs(int(value))
    return max(int(value.max(initial=0)), -int(value.min(initial=0)))


class Arrays:
    """The algebra of numpy columns. A term is evaluated once per distinct combination of its variables and
    then gathered by row."""

    def __init__(self, case: Case, columns: Mapping[str, Integers]):
        self.case = case
        self.columns = columns
        self._codes: dict[str, tuple[Integers, Integers]] = {}
        self._terms: dict[str, Integers] = {}
        self._tables: dict[str, tuple[Integers | None, Integers]] = {}
        self._combinations: dict[tuple[str, ...], tuple[Integers, list[Integers]]] = {}
        self._used: dict[tuple[str, ...], tuple[Integers, dict[str, Integers]]] = {}

    def number(self, value: int) -> Integers:
        return np.asarray(value, dtype=np.int64)

    def variable(self, name: str) -> Integers:
        return np.asarray(self.columns[name], dtype=np.int64)

    def term(self, term: Term) -> Integers:
        if term.name not in self._terms:
            self._terms[term.name] = self._gather(term)
        return self._terms[term.name]

    def times(self, left: Integers | int, right: Integers | int) -> Integers:
        if _top(left) * _top(right) <= LIMIT:
            return np.asarray(left * right)
        return product(left, right)

    def over(self, value: Integers | int, divisor: Integers | int) -> Integers:
        return np.asarray(value // divisor)

    def over_beside(self, value: Integers, divisor: Integers, beside: Integers) -> Integers:
        return self.over(value, divisor)

    def share(self, part: Integers, whole: Integers, parts: int) -> Integers:
        return part * parts // whole

    def largest(self, *values: Integers | int) -> Integers:
        return np.asarray(reduce(np.maximum, values))

    def excess(self, value: Integers | int, limit: Integers | int) -> Integers:
        return np.asarray(np.maximum(value - limit, 0))

    def excess_beside(self, value: Integers, limit: Integers) -> Integers:
        return self.excess(value, limit)

    def replaced(
        self, count: Integers, part: Integers, each: Integers, other: Integers
    ) -> Integers:
        return replaced(self, count, part, each, other)

    def blocks(self) -> Iterator[tuple[slice, Arrays]]:
        """The rows in slices of BLOCK, each with its algebra, which shares the tables of this one."""
        for start in range(0, len(self.variable("tp")), BLOCK):
            rows = slice(start, start + BLOCK)
            yield rows, Block(self, rows)

    def gathered(self, term: Term, rows: slice) -> Integers:
        """A term's values in some rows."""
        if term.name not in self._tables:
            self._tables[term.name] = self._tabulated(term)
        codes, table = self._tables[term.name]
        if codes is not None:
            return np.asarray(table.take(codes[rows]))
        return table[rows] if term.of else table

    def _gather(self, term: Term) -> Integers:
        return self.gathered(term, slice(None))

    def _tabulated(self, term: Term) -> tuple[Integers | None, Integers]:
        """Each row's code of a term's combination of variables, and the term's values by code; or None and
        its values by row."""
        if not term.of:
            return None, term(self.case, {})
        codes, domains = self._combined(term.of)
        if math.prod(map(len, domains)) > max(len(codes), 4096):
            return None, np.broadcast_to(term(self.case, self.columns), codes.shape)
        used, columns = self._distinct(term.of)
        table = np.zeros(math.prod(map(len, domains)), dtype=np.int64)
        table[used] = term(self.case, columns)
        return codes, table

    def _distinct(self, names: tuple[str, ...]) -> tuple[Integers, dict[str, Integers]]:
        """The codes that occur, and the variables' values at each."""
        if names not in self._used:
            codes, domains = self._combined(names)
            sizes = [len(domain) for domain in domains]
            used = np.flatnonzero(np.bincount(codes, minlength=math.prod(sizes)))
            rows = np.unravel_index(used, sizes)
            columns = {
                name: domain[row] for name, domain, row in zip(names, domains, rows, strict=True)
            }
            self._used[names] = (used, columns)
        return self._used[names]

    def _combined(self, names: tuple[str, ...]) -> tuple[Integers, list[Integers]]:
        """The mixed-radix code of each row's combination of the named variables, and their domains."""
        if names not in self._combinations:
            domain, code = self._code(names[-1])
            if len(names) == 1:
                self._combinations[names] = (code, [domain])
            else:
                before, domains = self._combined(names[:-1])
                self._combinations[names] = (before * len(domain) + code, [*domains, domain])
        return self._combinations[names]

    def _code(self, name: str) -> tuple[Integers, Integers]:
        """The sorted domain of a variable, and each row's index in it."""
        if name not in self._codes:
            column = self.variable(name)
            top = int(column.max(initial=0))
            if top < max(16 * len(column), 1 << 12):
                domain = np.flatnonzero(np.bincount(column))
                index = np.zeros(top + 1, dtype=np.int64)
                index[domain] = np.arange(len(domain))
                self._codes[name] = (domain, index[column])
            else:
                domain, code = np.unique(column, return_inverse=True)
                self._codes[name] = (domain, code)
        return self._codes[name]


def _top(value: Integers | int) -> int:
    """The largest value of a column, at least 0; a number itself."""
    return int(value.max(initial=0)) if isinstance(value, np.ndarray) else int(value)


class Block(Arrays):
    """A slice of the rows of `whole`, whose tables of terms it shares."""

    def __init__(self, whole: Arrays, rows: slice):
        super().__init__(whole.case, {name: whole.columns[name][rows] for name in whole.columns})
        self._whole = whole
        self._rows = rows

    def _gather(self, term: Term) -> Integers:
        return self._whole.gathered(term, self._rows)


class Variants(Arrays):
    """The algebra of numpy columns of a case whose rates are columns too, shaped (variants, 1): a value has
    the shape (variants, layouts), or (layouts,) where no such rate has a part in it."""

    def _gather(self, term: Term) -> Integers:
        if not term.of:
            return term(self.case, {})
        codes, _ = self._combined(term.of)
        used, columns = self._distinct(term.of)
        return np.asarray(term(self.case, columns)[..., np.searchsorted(used, codes)])

    def first(self, case: Case, anew: Collection[Term]) -> Arrays:
        """The algebra of the first variant on a case in which only the terms `anew` differ from its own."""
        other = Arrays(case, self.columns)
        again = {term.name for term in anew}
        other._terms = {
            name: value if value.ndim < 2 else value[0]
            for name, value in self._terms.items()
            if name not in again
        }
        return other


class Numbers:
    """The algebra of plain integers: one layout, many times faster than columns of one row."""

    def __init__(self, case: Case, columns: Mapping[str, int]):
        self.case = case
        self.columns = columns
        self._terms: dict[str, int] = {}

    def number(self, value: int) -> int:
        return value

    def variable(self, name: str) -> int:
        return self.columns[name]

    def term(self, term: Term) -> int:
        if term.name not in self._terms:
            columns = {name: np.array([self.columns[name]]) for name in term.of}
            self._terms[term.name] = int(term(self.case, columns).ravel()[0])
        return self._terms[term.name]

    def times(self, left: int, right: int) -> int:
        return min(left * right, LIMIT)

    def over(self, value: int, divisor: int) -> int:
        return value // divisor

    def over_beside(self, value: int, divisor: int, beside: int) -> int:
        return self.over(value, divisor)

    def share(self, part: int, whole: int, parts: int) -> int:
        return part * parts // whole

    def largest(self, *values: int) -> int:
        return max(values)

    def excess(self, value: int, limit: int) -> int:
        return max(value - limit, 0)

    def excess_beside(self, value: int, limit: int) -> int:
        return self.excess(value, limit)

    def replaced(self, count: int, part: int, each: int, other: int) -> int:
        return replaced(self, count, part, each, other)
