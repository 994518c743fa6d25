"""Legal layouts -> those that are likeliest to be better than a plan, with every layer in even stages."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import numpy as np

from parc.compiler.algebra import Integers
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.pricing.quantities import price, quantities
from parc.compiler.search.sweep import capacity_kib, objectives, satisfied
from tests.support.drawn_layouts import Decided, drawn_layouts, neighbours, rows_of

#: Placed layers free at most about this share of a rank's memory.
PLACED = 1.1
#: Draws for each layout that is priced; most are illegal.
TRIES = 40


def promising(case: Case, columns: Mapping[str, Integers], count: int) -> Iterator[Decided]:
    """The best predictions of those that nearly fit and meet the other conditions."""
    if not len(columns["tp"]):
        return
    prices = price(case, columns)
    values = {**columns, **quantities(case, columns, prices)}
    values["memory"] = values["memory"] / PLACED
    kept = prices.memory_kib <= capacity_kib(case) * PLACED
    for condition in case.hard:
        kept = kept & satisfied(condition, values)
    objective = objectives(case)[0]
    sign = -1 if objective.direction == "maximize" else 1
    score = sign * values[objective.quantity]
    rows = np.flatnonzero(np.broadcast_to(kept, score.shape))
    order = np.lexsort([prices.step_ns[rows], score[rows]])
    yield from rows_of(columns, rows[order][:count])


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
