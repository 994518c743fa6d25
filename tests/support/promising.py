"""Legal layouts -> those that are likeliest to be better than a plan, each in its best placement."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import numpy as np

from parc.compiler.algebra import Integers
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.pricing.quantities import price, quantities
from parc.compiler.search.sweep import capacity_kib, objectives, satisfied
from tests.support.drawn_layouts import (
    Decided,
    drawn_layouts,
    in_every_placement,
    neighbours,
    rows_of,
)

#: Draws for each layout that is priced; most are illegal.
TRIES = 40


def promising(case: Case, columns: Mapping[str, Integers], count: int) -> Iterator[Decided]:
    """The best predictions of those that fit and meet the other conditions in some placement."""
    if not len(columns["tp"]):
        return
    every, rows = in_every_placement(case, columns)
    prices = price(case, every)
    values = {**every, **quantities(case, every, prices)}
    kept = prices.memory_kib <= capacity_kib(case)
    for condition in case.hard:
        kept = kept & satisfied(condition, values)
    objective = objectives(case)[0]
    sign = -1 if objective.direction == "maximize" else 1
    score = np.broadcast_to(sign * values[objective.quantity], rows.shape)
    met = np.flatnonzero(np.broadcast_to(kept, rows.shape))
    order = rows[met[np.lexsort([prices.step_ns[met], score[met]])]]
    yield from rows_of(columns, list(dict.fromkeys(order.tolist()))[:count])


def challengers(case: Case, plan: Plan | None, seed: int, count: int) -> list[Decided]:
    """Layouts to set against a plan: a third at random, a third the best of many, a third near the plan."""
    source = random.Random(seed)
    drawn = drawn_layouts(case, source, TRIES * count)
    legal = len(drawn["tp"])
    each = max(1, count // 3)
    found = list(rows_of(drawn, source.sample(range(legal), min(each, legal))))
    found += promising(case, drawn, each)
    if plan is not None:
        found += promising(case, neighbours(case, plan.layout), each)
    return [row for place, row in enumerate(found) if row not in found[:place]]
