"""Layouts that ran on a cluster, of whatever job -> by how much steps of others exceed their predictions.

What formulas and fitted figures leave open of a run is partly that of layouts like it: a Gaussian process
over the logarithms of what splits the work (Rasmussen and Williams, Gaussian Processes for Machine Learning,
2006, chapter 2), in which a run that is far off counts little, as one whose error is Student's t (Lange,
Little and Taylor 1989, Journal of the American Statistical Association 84).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..pricing.mechanisms import Floats

#: The ratios, as natural logarithms, over which the likeness of two layouts falls to 1 / e: doublings of each
#: variable. None was tuned; benchmarks/transfer.py is as good with half or double of all.
DOUBLINGS = {"tp": 1.0, "pp": 1.5, "cp": 1.0, "ep": 1.0, "gpus": 2.0, "micro_batch": 1.5}
#: Usual deviation of what formulas leave open from one layout to the next, and the share of its square that
#: like layouts have in common; assumed.
LEFT_OPEN, COMMON = 0.06, 0.5
#: Degrees of freedom of the errors of runs. Few: logs of one site are of machines in several states.
FREEDOM = 2.0
#: Columns of layouts: those of DOUBLINGS and `recompute`, each of the shape (layouts,).
Columns = Mapping[str, Any]


def likeness(layouts: Columns, others: Columns) -> Floats:
    """1 for equal layouts, falling to 0: shape (layouts, others).

    Runs of any job tell of a layout by it, few of which split the model just alike; the choice among layouts
    of one job has the stricter `kinship` of pricing/mechanisms.py, with its reason there.
    """
    apart = np.not_equal.outer(layouts["recompute"], others["recompute"]).astype(float)
    for name, scale in DOUBLINGS.items():
        one, other = (np.log2(np.asarray(each[name], dtype=float)) for each in (layouts, others))
        apart += np.abs(np.subtract.outer(one, other)) / scale
    return np.asarray(np.exp(-apart))


def excess(ran: Columns, ratios: Floats, layouts: Columns) -> Floats:
    """ln(expected / predicted time) of a step of each of the layouts, given ln(measured / predicted) of those
    that ran: shape (layouts,)."""
    shared = COMMON * LEFT_OPEN**2
    variances = (FREEDOM * LEFT_OPEN**2 + np.square(ratios)) / (FREEDOM + 1.0)
    noise = np.maximum(variances - shared, (1.0 - COMMON) * LEFT_OPEN**2)
    among = shared * likeness(ran, ran) + np.diag(noise)
    return np.asarray(shared * likeness(layouts, ran) @ np.linalg.solve(among, ratios))
