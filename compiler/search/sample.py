"""A space -> layouts of it with their prices, one placement each: all of a small space, few of a large one.

A large space is thinned while its variables are decided: whenever more than THINNED layouts are left, every
k-th of them goes on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra import Integers, Mask
from ..case import Case
from ..variables import ORDER
from .best_first import explored
from .columns import distinct
from .space import Space
from .sweep import Swept, fits, sweep

#: Layouts of a large space that are priced.
THINNED = 2**12


def sample(case: Case, known: Swept | None = None) -> tuple[Swept, bool]:
    """Layouts of a space, each with one placement, and whether they are all of it. `known` are the layouts
    that the search kept: of a small space all, of a large one the best, which join those of the thinned one.
    """
    known = known or explored(Space(case))
    whole = known.explored is None
    return _once(known if whole else thinned(case).with_rows(known)), whole


def thinned(case: Case) -> Swept:
    """Some layouts of a large space with prices, in all of their placements."""
    space = Space(case)
    columns: dict[str, Integers] = {}
    for name in ORDER:
        columns = space.extend(columns, [name])
        if (count := len(columns[name])) > THINNED:
            rows = np.linspace(0, count - 1, THINNED).astype(np.int64)
            columns = {key: column[rows] for key, column in columns.items()}
    return sweep(replace(space, blocks=columns))


def fitting(swept: Swept) -> Mask:
    """The rows that fit into the GPU within the job's risk."""
    return np.broadcast_to(fits(swept.space.case, swept.prices), swept.feasible.shape)


def _once(swept: Swept) -> Swept:
    """Each layout with one of its placements: the fastest of those that are allowed, else that fit, else the
    one that needs the least memory."""
    code = distinct([swept.space.layouts[name] for name in ORDER])[1]
    fit = fitting(swept)
    value = np.where(fit, swept.prices.step_ns, swept.prices.memory_kib)
    rows = np.lexsort((value, ~fit, ~swept.feasible, code))
    mask = np.zeros(len(rows), dtype=bool)
    mask[rows[np.unique(code[rows], return_index=True)[1]]] = True
    return swept.only(mask)
