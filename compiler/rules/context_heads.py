"""Where the heads of a job can be exchanged among the ranks of context parallelism: degrees as columns, one
number per layout."""

from __future__ import annotations

from ...dsl.arrays import at_least, np
from ...dsl.exchanges import A2A, HIERARCHICAL
from ...dsl.job import Job
from ..algebra import Column, Integers, Mask
from ..time.rank_groups import groups


def key_heads(job: Job, tp: Column) -> Column:
    """Key-value heads of a rank: no fewer than one."""
    held = job.model.heads if job.model.mla else job.model.groups
    found: Column = at_least(held // np.asarray(tp), 1)
    return found


def divides_heads(job: Job, tp: Column, ways: Column) -> Mask:
    """Where `ways` ranks of an all-to-all get whole heads of queries, keys and values
    (Transformer Engine 2.9, context_parallel.py:3189)."""
    whole = job.model.heads % (np.asarray(tp) * ways) == 0
    return np.asarray(whole & (key_heads(job, tp) % ways == 0))


def inner_ways(job: Job, tp: Column, cp: Column) -> Integers:
    """Ranks of the all-to-all inside a ring of the hierarchical way: as many as divide cp and the heads and
    share a fast domain, and 1 where there is none, or no ring is left."""
    tp, cp = np.broadcast_arrays(np.asarray(tp, dtype=np.int64), np.asarray(cp, dtype=np.int64))
    found = np.ones_like(cp)
    for ways in range(
        2, int(min(np.max(cp, initial=1), np.max(key_heads(job, tp), initial=1))) + 1
    ):
        near = groups(job.cluster, np.full_like(cp, ways), tp).inside
        fits = (cp % ways == 0) & (cp > ways) & near & divides_heads(job, tp, ways)
        found = np.where(fits, ways, found)
    return found


def possible(job: Job, way: str, tp: Column, cp: Column) -> Mask:
    """Where a layout with cp above 1 can take a way."""
    if way == A2A:
        return divides_heads(job, tp, cp)
    if way == HIERARCHICAL:
        return np.asarray(inner_ways(job, tp, cp) > 1)
    return np.ones(np.broadcast(tp, cp).shape, dtype=bool)
