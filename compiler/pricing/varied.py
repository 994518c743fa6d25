"""A layout on a case whose figures are columns -> its step at each of their values.

Rates, latencies and shares of a GPU, a cluster or the host may be arrays instead of numbers, one value for
each of many machines: the terms of time are numpy, so that a layout is priced on all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..algebra import Arrays, Integers, Term
from ..case import Case
from ..pipeline.even_split import Split
from ..pipeline.rank_load import placed_load
from ..time import step
from ..time.gradient_sync import fullest
from .estimate import one_row


class OneRow(Arrays):
    """The algebra of one layout at many values of the figures."""

    def _gather(self, term: Term) -> Integers:
        return term(self.case, self.columns)


def varied_parts(case: Case, layout: Mapping[str, int], placement: Split) -> dict[str, Any]:
    """Nanoseconds of a step by part, as `pricing/estimate.py:time_by_part` has them for numbers: arrays of
    the figures' length, or numbers where no such figure has a part in them. `layout` gives every decision.
    """
    columns = one_row(case, layout)
    one = {name: int(np.ravel(column)[0]) for name, column in columns.items()}
    x = OneRow(case, columns)
    loads = [
        replace(placed_load(case, one, placement, rank), flight=0)
        for rank in range(len(placement.chunks))
    ]
    priced: dict[str, Any] = {}
    for load in loads:
        if repr(load) not in priced:
            priced[repr(load)] = step.slot(x, load)
    slots = [priced[repr(load)] for load in loads]
    held: dict[str, Any] = fullest(x, loads)
    if len(slots) == 1:
        return step.step_parts(x, slots[0], x.number(0), held)
    totals = [sum(parts.values()) for parts in slots]
    slowest = x.largest(*totals)
    return step.step_parts(x, {"work": slowest}, sum(totals) - slowest, held)
