"""Cost terms: small vectorised functions of few variables, and the algebras that combine them.

`speed.py` and `ranks.py` write every total once, over an `Algebra`. `Arrays` prices whole columns of
layouts with numpy, `Numbers` one layout; the solver has an algebra of CP-SAT variables. All see the same
integers (nanoseconds, KiB, ...), so the optimum of one is the optimum of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
#: No valid total comes near; larger terms and products count as this, so that sums of them stay below 2**63.
LIMIT = 2**53


@dataclass(frozen=True)
class Term:
    """A function of a case and some integer columns, rounded up to whole `unit`s."""

    name: str
    unit: str
    of: tuple[str, ...]
    function: Callable[..., Any]

    def __call__(self, case: Any, columns: Mapping[str, Any]) -> Integers:
        values = self.function(case, *(np.asarray(columns[name]) for name in self.of))
        rounded = np.ceil(np.asarray(values, dtype=np.float64) - 1e-9)
        return np.asarray(np.minimum(rounded, LIMIT), dtype=np.int64)


def term(unit: str, of: Sequence[str]) -> Callable[[Callable[..., Any]], Term]:
    """Declare a cost term: `of` names the columns that the function takes after the case,
    equally long arrays each."""
    return lambda function: Term(function.__name__, unit, tuple(of), function)


def whole(value: Any) -> Any:
    """The nearest whole number, or those of an array."""
    return np.rint(value).astype(np.int64) if isinstance(value, np.ndarray) else round(value)


class Algebra(Protocol):
    """What a total is built with. Values add and subtract with + and -, and multiply by plain integers."""

    case: Any

    def variable(self, name: str) -> Any: ...
    def term(self, term: Term) -> Any: ...
    def times(self, left: Any, right: Any) -> Any: ...
    def over(self, value: Any, divisor: Any) -> Any:
        """Floor division of non-negative values."""

    def share(self, part: Any, whole: Any, parts: int) -> Any:
        """The part of a whole in so many parts, rounded down."""

    def largest(self, *values: Any) -> Any: ...
    def excess(self, value: Any, limit: Any) -> Any:
        """What `value` has beyond `limit`, at least 0."""


class Arrays:
    """The algebra of numpy columns. A term is evaluated once per distinct combination of its few variables,
    then gathered."""

    def __init__(self, case: Any, columns: Mapping[str, Any]):
        self.case = case
        self.columns = columns
        self._codes: dict[str, tuple[Integers, Integers]] = {}
        self._terms: dict[str, Integers] = {}
        self._combinations: dict[tuple[str, ...], tuple[Integers, list[Integers]]] = {}

    def variable(self, name: str) -> Integers:
        return np.asarray(self.columns[name], dtype=np.int64)

    def term(self, term: Term) -> Integers:
        if term.name not in self._terms:
            self._terms[term.name] = self._gather(term)
        return self._terms[term.name]

    def times(self, left: Any, right: Any) -> Any:
        if int(np.max(left, initial=0)) * int(np.max(right, initial=0)) <= LIMIT:
            return left * right
        exact = np.multiply(left, right, dtype=np.float64) <= LIMIT
        return np.where(exact, np.multiply(left, np.where(exact, right, 0)), LIMIT)

    def over(self, value: Any, divisor: Any) -> Any:
        return value // divisor

    def share(self, part: Any, whole: Any, parts: int) -> Any:
        return part * parts // whole

    def largest(self, *values: Any) -> Any:
        result = values[0]
        for value in values[1:]:
            result = np.maximum(result, value)
        return result

    def excess(self, value: Any, limit: Any) -> Any:
        return np.maximum(value - limit, 0)

    def _gather(self, term: Term) -> Integers:
        if not term.of:
            return term(self.case, {})
        codes, domains = self._combined(term.of)
        size = int(np.prod([len(domain) for domain in domains]))
        if size > max(len(codes), 4096):
            return term(self.case, self.columns)
        used = np.flatnonzero(np.bincount(codes, minlength=size))
        rows = np.unravel_index(used, [len(domain) for domain in domains])
        columns = {
            name: domain[row] for name, domain, row in zip(term.of, domains, rows, strict=True)
        }
        table = np.zeros(size, dtype=np.int64)
        table[used] = term(self.case, columns)
        gathered: Integers = table[codes]
        return gathered

    def _combined(self, names: tuple[str, ...]) -> tuple[Integers, list[Integers]]:
        """The number of each layout's combination of the named variables, and the values of each."""
        if names not in self._combinations:
            codes = np.zeros(1, dtype=np.int64)
            domains = []
            for name in names:
                domain, code = self._code(name)
                codes = codes * len(domain) + code
                domains.append(domain)
            self._combinations[names] = (codes, domains)
        return self._combinations[names]

    def _code(self, name: str) -> tuple[Integers, Integers]:
        if name not in self._codes:
            column = self.variable(name)
            top = int(column.max(initial=0))
            if top < 1 << 22:
                domain = np.flatnonzero(np.bincount(column))
                index = np.zeros(top + 1, dtype=np.int64)
                index[domain] = np.arange(len(domain))
                self._codes[name] = (domain, index[column])
            else:
                domain, code = np.unique(column, return_inverse=True)
                self._codes[name] = (domain, code)
        return self._codes[name]


class Numbers:
    """The algebra of plain integers: one layout, many times as fast as columns of one row."""

    def __init__(self, case: Any, columns: Mapping[str, int]):
        self.case = case
        self.columns = columns
        self._terms: dict[str, int] = {}

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

    def share(self, part: int, whole: int, parts: int) -> int:
        return part * parts // whole

    def largest(self, *values: int) -> int:
        return max(values)

    def excess(self, value: int, limit: int) -> int:
        return max(value - limit, 0)
