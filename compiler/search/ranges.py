"""Blocks of layouts -> bounds on their totals: an algebra of intervals.

A block decides some variables and leaves others open. A term takes its least and its greatest value over the
open ones that the rules allow, and sums, products and maxima of such intervals contain every layout's total.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..algebra import BLOCK, LIMIT, Arrays, Integers, Mask, Term, product, replaced
from ..interval import Later, Range, interval, known
from ..target import holds
from ..variables import DERIVED, SEARCHED
from .columns import distinct
from .space import Space

#: Most combinations for which an open term is evaluated; beyond them its bounds are 0 and LIMIT.
MOST_COMBINATIONS = 2**21
#: Most combinations that are kept for other terms of the same variables.
SHARED_COMBINATIONS = 2**16
#: Most keys at which a term's bounds are kept from one batch of blocks to the next.
MOST_KEPT = 2**15
#: Decided variables that narrow open ones by the rules between them, though no term is of both: shards are
#: parts of the replicas, stages of ZeRO are for some degrees alone, and layers fill few virtual stages of a
#: deep pipeline.
RELATED = {"dp_shard": ("dp",), "zero": ("pp",), "vpp": ("pp",)}
#: Most combinations of a term with those.
MOST_RELATED = 2**18
Names = tuple[str, ...]
#: Values of recomputed layers that are looked at: 0, the fewest and the most.
FEW = 3


@dataclass(frozen=True)
class Combined:
    """The combinations that the rules allow of `count` codes and `size` choices, as columns; combination i is
    of the code `rows[i] // size`."""

    columns: Arrays
    rows: Integers
    count: int
    size: int

    def extremes(self, term: Term) -> tuple[Integers, Integers]:
        """The least and the greatest value of a term for each code; LIMIT where the rules allow none of its
        choices."""
        value = self.columns.term(term) if len(self.rows) else self.rows
        low = np.full(self.count * self.size, LIMIT, dtype=np.int64)
        high = np.full(self.count * self.size, -1, dtype=np.int64)
        low[self.rows] = high[self.rows] = value
        shape = (self.count, self.size)
        least, most = low.reshape(shape).min(axis=1), high.reshape(shape).max(axis=1)
        return least, np.where(most < 0, LIMIT, most)


class Extremes:
    """The least and the greatest value of a term by key of what decides it, as far as blocks asked for them:
    batches of blocks have most keys in common."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, dtype=np.int64)
        self._ends = np.zeros((2, 0), dtype=np.int64)

    @property
    def size(self) -> int:
        """How many keys are known."""
        return len(self._keys)

    def new(self, keys: Integers) -> Mask:
        """Which of the keys are not known."""
        if not len(self._keys):
            return np.ones(len(keys), dtype=bool)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[places] != keys)

    def learn(self, keys: Integers, low: Integers, high: Integers) -> None:
        """Keeps the values at new keys."""
        both = np.concatenate([self._keys, keys])
        order = np.argsort(both)
        self._keys = both[order]
        self._ends = np.concatenate([self._ends, [low, high]], axis=1)[:, order]

    def of(self, keys: Integers) -> tuple[Integers, Integers]:
        """The values at known keys."""
        low, high = self._ends[:, np.searchsorted(self._keys, keys)]
        return low, high


def _packed(values: Integers) -> Integers | None:
    """Rows of variables as one number each; None of too many or too large ones."""
    bits = 62 // max(1, values.shape[1])
    if int(values.max(initial=0)) >> bits:
        return None
    found = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        found = (found << bits) + column
    return found


class Ranges:
    """The algebra of intervals: one per row of `blocks`, whose columns are the variables that are decided, or
    of the slice `rows` of them, which shares the tables of `whole`."""

    def __init__(
        self,
        space: Space,
        blocks: Mapping[str, Integers],
        rows: slice = slice(None),
        whole: Ranges | None = None,
    ):
        self.case = space.case
        self.space = space
        self._blocks = blocks
        self._rows = rows
        # None, not itself: a cycle would keep the tables until the next garbage collection.
        self._whole = whole
        #: Whether bounds on parts of a sum are asked for, which by themselves are wider than in the sum.
        self.apart: bool = whole is not None and whole.apart
        self._decided = Arrays(space.case, blocks)
        self._tables: dict[str, tuple[Integers | None, Integers, Integers]] = {}
        self._combinations: dict[tuple[Names, Names, bytes], Combined] = {}
        self._codes: dict[Names, tuple[Integers, Integers]] = {}
        self._terms: dict[str, Range] = {}

    def parts(self) -> Iterator[tuple[slice, Ranges]]:
        """The rows in slices of BLOCK, each with its algebra."""
        for start in range(0, len(self._blocks["nodes"]), BLOCK):
            rows = slice(start, start + BLOCK)
            yield rows, Ranges(self.space, self._blocks, rows, self)

    def number(self, value: int) -> Range:
        return interval(value)

    def variable(self, name: str) -> Range:
        if name in self._blocks:
            column = self._blocks[name][self._rows]
            return Range(column, column)
        return self.term(_itself(name))

    def term(self, term: Term) -> Range:
        if term.name not in self._terms:
            self._terms[term.name] = (self._whole or self)._gathered(term, self._rows)
        return self._terms[term.name]

    def times(self, left: Range | int, right: Range | int) -> Range:
        left, right = interval(left), interval(right)
        if left.exact and right.exact:
            one = product(left.low, right.low)
            return Range(one, one)
        if left.low.min(initial=0) >= 0 and right.low.min(initial=0) >= 0:
            ends = left.end, right.end
            high = Later(lambda: product(known(ends[0]), known(ends[1])))
            return Range(product(left.low, right.low), high)
        corners = [product(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Range(np.minimum.reduce(corners), np.maximum.reduce(corners))

    def over(self, value: Range | int, divisor: Range | int) -> Range:
        value, divisor = interval(value), interval(divisor)
        low = np.asarray(np.maximum(value.low, 0) // divisor.high)
        if value.exact and divisor.exact:
            return Range(low, low)
        end, least = value.end, divisor.low
        return Range(low, Later(lambda: np.maximum(known(end), 0) // least))

    def over_beside(self, value: Range, divisor: Range, beside: Range) -> Range:
        return self.over(value, divisor)

    def share(self, part: Range, whole: Range, parts: int) -> Range:
        low = np.maximum(part.low, 0) * parts // np.maximum(whole.high, 1)
        return Range(low, np.maximum(part.high, 0) * parts // np.maximum(whole.low, 1))

    def largest(self, *values: Range | int) -> Range:
        ranges = [interval(value) for value in values]
        low = np.asarray(_maximum([each.low for each in ranges]))
        if all(each.exact for each in ranges):
            return Range(low, low)
        ends = [each.end for each in ranges]
        return Range(low, Later(lambda: _maximum([known(end) for end in ends])))

    def excess(self, value: Range | int, limit: Range | int) -> Range:
        value, limit = interval(value), interval(limit)
        if value.exact and limit.exact or np.any(value.low > limit.low):
            return self.largest(value - limit, 0)
        return Range(np.asarray(0), _above(value, limit))

    def excess_beside(self, value: Range, limit: Range) -> Range:
        """The sum of both is the larger one: `low` is of the sum, less the least of `limit`."""
        if self.apart:
            return self.excess(value, limit)
        low = np.asarray(np.maximum(value.low - limit.low, 0))
        return Range(low, low if value.exact and limit.exact else _above(value, limit))

    def replaced(self, count: Range, part: Range, each: Range, other: Range) -> Range:
        """No less than the lesser of both for each one: where `part` is open, the ends of the sum's two
        halves belong to different layouts."""
        found = replaced(self, count, part, each, other)
        least = product(count.low, np.minimum(each.low, other.low))
        low = np.asarray(np.maximum(found.low, least))
        return Range(low, low if found.exact else found.end)

    def _gathered(self, term: Term, rows: slice) -> Range:
        """A term's bounds in some blocks."""
        if all(name in self._blocks for name in term.of):
            values = self._decided.gathered(term, rows)
            return Range(values, values)
        if term.name not in self._tables:
            self._tables[term.name] = self._tabulated(term)
        code, low, high = self._tables[term.name]
        if code is None:
            return Range(low, high)
        return Range(low[code[rows]], Later(lambda: high[code[rows]]))

    def _tabulated(self, term: Term) -> tuple[Integers | None, Integers, Integers]:
        """Each block's code of what decides a term, and the bounds by code; each combination is evaluated
        once."""
        known, free = _sources(term.of, self._blocks)
        size = math.prod(len(self._choices(name)) for name in free)
        known = self._with_related(known, free, size)
        code, values = self._coded(known)
        keys = _packed(values)
        if keys is None or len(keys) > MOST_KEPT:
            if len(values) * size > MOST_COMBINATIONS:
                return None, np.asarray(0), np.asarray(LIMIT)
            return code, *self._combined(known, free, values).extremes(term)
        kept = self.space.extremes.setdefault((term.name, known), Extremes())
        if kept.size + len(keys) > MOST_KEPT:
            kept = self.space.extremes[term.name, known] = Extremes()
        new = kept.new(keys)
        if np.count_nonzero(new) * size > MOST_COMBINATIONS:
            return None, np.asarray(0), np.asarray(LIMIT)
        if new.any():
            kept.learn(keys[new], *self._combined(known, free, values[new]).extremes(term))
        return code, *kept.of(keys)

    def _with_related(self, known: Names, free: Names, size: int) -> Names:
        """The variables that decide a term, and the decided variables of RELATED that rules tie to its open
        ones, as far as that makes not too many combinations."""
        for name, others in RELATED.items():
            for other in others if name in free else ():
                if other in self._blocks and other not in known:
                    more = (*known, other)
                    if len(self._coded(more)[1]) * size <= MOST_RELATED:
                        known = more
        return known

    def _coded(self, names: Names) -> tuple[Integers, Integers]:
        """Each block's code of the named columns, and their values by code."""
        if names not in self._codes:
            columns = [self._blocks[name] for name in names]
            columns = columns or [np.zeros_like(self._blocks["nodes"])]
            values, code = distinct(columns)
            self._codes[names] = (code, values)
        return self._codes[names]

    def _choices(self, name: str) -> Integers:
        """The values of an open variable that may be a term's extremes: the more layers are recomputed, the
        more or the less any term is, and 0 stands for all."""
        domain = self.space.columns[name]
        if name != "recompute_layers" or len(domain) <= FEW:
            return domain
        return np.concatenate([domain[:2], domain[-1:]])

    def _combined(self, known: Names, free: Names, values: Integers) -> Combined:
        """The combinations of `values` of the columns `known` with the open variables `free`."""
        key = (known, free, values.tobytes())
        if key in self._combinations:
            return self._combinations[key]
        domains = [self._choices(name) for name in free]
        choices = [axis.ravel() for axis in np.meshgrid(*domains, indexing="ij")]
        count, size = len(values), len(choices[0]) if choices else 1
        columns = {name: np.repeat(values[:, index], size) for index, name in enumerate(known)}
        columns |= {
            name: np.tile(choice, count) for name, choice in zip(free, choices, strict=True)
        }
        columns, rows = self._allowed(columns, np.arange(count * size))
        found = Combined(Arrays(self.case, columns), rows, count, size)
        if len(rows) <= SHARED_COMBINATIONS:
            self._combinations[key] = found
        return found

    def _allowed(
        self, columns: dict[str, Integers], rows: Integers
    ) -> tuple[dict[str, Integers], Integers]:
        """The combinations that break no rule among their variables, with what derives from these."""
        job = self.case.job
        for name, derived in DERIVED.items():
            if name not in columns and all(source in columns for source in derived.of):
                found = derived.value(job, **{source: columns[source] for source in derived.of})
                columns[name] = np.asarray(found, dtype=np.int64)
        for rule in (*self.space.rules, self.space.placed):
            if all(name in columns for name in rule.of):
                kept = np.broadcast_to(holds(rule, job, columns), rows.shape)
                if kept.all():
                    continue
                columns, rows = {name: it[kept] for name, it in columns.items()}, rows[kept]
        return columns, rows


@cache
def _itself(name: str) -> Term:
    """A variable as a term, so that rules narrow it where it is open."""
    return Term(f"{name} itself", "1", (name,), lambda case, value: value)


def _sources(names: Sequence[str], decided: Mapping[str, Integers]) -> tuple[Names, Names]:
    """The variables that decide the named ones: those that the blocks decide, and open decisions."""
    known: dict[str, None] = {}
    free: dict[str, None] = {}
    for name in names:
        if name in decided:
            known[name] = None
        elif name in SEARCHED:
            free[name] = None
        else:
            below, above = _sources(DERIVED[name].of, decided)
            known |= dict.fromkeys(below)
            free |= dict.fromkeys(above)
    return tuple(known), tuple(free)


def _above(value: Range, limit: Range) -> Later:
    """The most by which a value exceeds a limit."""
    end, least = value.end, limit.low
    return Later(lambda: np.maximum(known(end) - least, 0))


def _maximum(columns: Sequence[Integers]) -> Integers:
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(*columns)))
