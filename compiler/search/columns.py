"""Columns of layouts, one integer a row: rows joined with candidates, distinct ones, those that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..algebra import Integers, Mask


@dataclass
class Growing:
    """Rows of `columns` with one column more, `new`: row i is the row `row[i]` of `columns`. A column is
    copied where it is asked for, so that rows that a rule drops early are not copied whole."""

    columns: Mapping[str, Integers]
    row: Integers
    new: dict[str, Integers] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.new or name in self.columns

    def of(self, names: Sequence[str]) -> dict[str, Integers]:
        """The named columns of the rows."""
        for name in names:
            if name not in self.new:
                self.new[name] = self.columns[name][self.row]
        return {name: self.new[name] for name in names}

    def keep(self, mask: Mask) -> None:
        """Drops the rows where the mask is false."""
        if not mask.all():
            self.row = self.row[mask]
            self.new = {name: column[mask] for name, column in self.new.items()}

    def whole(self) -> dict[str, Integers]:
        """All columns of the rows, the older ones first."""
        return self.of([*self.columns, *(name for name in self.new if name not in self.columns)])


def joined(pairs: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Parts of pairs of indices as one."""
    none = np.zeros(0, dtype=np.int64)
    rows, candidates = zip(*pairs, strict=True) if pairs else ((none,), (none,))
    return np.concatenate(rows), np.concatenate(candidates)


def expanded(
    code: Integers, row: Integers, candidate: Integers, count: int
) -> tuple[Integers, Integers]:
    """Each row with the candidates of its code: pairs of `count` codes and candidates, in rising order -> the
    same of rows."""
    sizes = np.bincount(row, minlength=count)
    starts = np.cumsum(sizes) - sizes
    repeats = sizes[code]
    rows = np.repeat(np.arange(len(code)), repeats)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return rows, candidate[starts[code][rows] + within]


def quotient_pairs(
    left: Integers, divisors: Integers, domain: Integers, most: int
) -> Iterator[tuple[Integers, Integers]]:
    """Indices of rows and of the candidates of a rising `domain` that are what is left of a row over one of
    some rising divisors, in rising order, in parts of at most about `most` trials."""
    falling, step = divisors[::-1], max(1, most // max(1, len(divisors)))
    for start in range(0, len(left), step):
        part = left[start : start + step]
        row, way = np.nonzero(part[:, np.newaxis] % falling == 0)
        quotient = part[row] // falling[way]
        candidate = np.minimum(np.searchsorted(domain, quotient), len(domain) - 1)
        held = domain[candidate] == quotient
        yield start + row[held], candidate[held]


def distinct(columns: Sequence[Integers]) -> tuple[Integers, Integers]:
    """The distinct rows of equally long columns, and each row's index among them. Mixed-radix codes avoid
    sorting whole rows, and where they are few for the rows, sorting at all."""
    count = len(columns[0])
    code, most = np.zeros(count, dtype=np.int64), min(max(4 * count, 1 << 12), 1 << 22)
    for column in columns:
        low = int(column.min(initial=0))
        code = code * (int(column.max(initial=0)) - low + 1) + (column - low)
        if int(code.max(initial=0)) > most:
            code = np.unique(code, return_inverse=True)[1]
    size = int(code.max(initial=0)) + 1
    first = np.zeros(size, dtype=np.int64)
    first[code[::-1]] = np.arange(count - 1, -1, -1)
    used = np.flatnonzero(np.bincount(code, minlength=size))
    index = np.zeros(size, dtype=np.int64)
    index[used] = np.arange(len(used))
    rows = first[used]
    return np.column_stack([column[rows] for column in columns]), index[code]


def rows_of(columns: Mapping[str, Integers], mask: Mask) -> dict[str, Integers]:
    """The rows of columns where the mask is true."""
    if bool(mask.all()):
        return dict(columns)
    return {name: column[mask] for name, column in columns.items()}
