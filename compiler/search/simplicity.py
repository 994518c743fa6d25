"""How complicated a layout is: what decides among layouts that predictions cannot tell apart.

A layout with fewer ways of splitting is simpler, then one with smaller degrees. Both are one integer, the sum
of PARTS, so that sweep and solver order layouts alike. Between the two comes headroom (compiler/headroom.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..algebra import Integers

#: What a layout without headroom weighs: more than all degrees together, each LOG2 times its logarithm.
CROWDED, LOG2 = 2**13, 64
#: What a way of splitting weighs: more than headroom and all degrees.
WAY = 2 * CROWDED
#: What an unmet preference weighs: more than headroom and all ways of splitting.
UNMET = 16 * WAY

Columns = Mapping[str, Integers]


def _degree(name: str) -> Callable[[Columns], Integers]:
    def effort(columns: Columns) -> Integers:
        degree = columns[name]
        logarithm = np.rint(LOG2 * np.log2(degree)).astype(np.int64)
        return np.asarray(np.where(degree > 1, WAY, 0) + logarithm)

    return effort


def _hybrid(columns: Columns) -> Integers:
    """Replicas of shard groups: two kinds of data parallelism at once. Groups of context-parallel ranks are
    shard groups as well, where ZeRO divides anything."""
    divided = (columns["shard"] > 1) & (columns["zero"] > 0)
    return np.asarray(WAY * ((columns["dp_replicate"] > 1) & divided), np.int64)


def _above(name: str, neutral: int) -> Callable[[Columns], Integers]:
    return lambda columns: np.asarray(WAY * (columns[name] > neutral), np.int64)


#: Variables, and what they add to the complexity of a layout.
PARTS: tuple[tuple[tuple[str, ...], Callable[[Columns], Integers]], ...] = (
    (("tp",), _degree("tp")),
    (("pp",), _degree("pp")),
    (("cp",), _degree("cp")),
    (("ep",), _degree("ep")),
    (("dp_replicate", "shard", "zero"), _hybrid),
    (("offload",), _above("offload", 0)),
    (("hpz",), _above("hpz", 1)),
    (("order",), _above("order", 0)),
)


def least_complexity(columns: Columns) -> Integers:
    """A lower bound on the complexity of layouts of which `columns` has some of the variables."""
    known = (effort(columns) for of, effort in PARTS if set(of) <= columns.keys())
    return np.asarray(sum(known, np.zeros_like(columns["nodes"])))


def complexity(columns: Columns) -> Integers:
    """The complexity of every layout; columns by variable, derived ones included."""
    return np.asarray(sum(effort(columns) for _, effort in PARTS))
