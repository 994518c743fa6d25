"""A layout -> layers per pipeline stage, by a small CP-SAT model.

It minimises in turn the time of the slowest rank, the memory of the fullest, and the distance to an even
placement. For Llama 3's 126 layers on 16 stages it finds the published placement: one layer less on the first
and the last (arXiv 2407.21783, 3.3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

from ...dsl.expression import names
from ..algebra import KIB
from ..case import Case
from ..pipeline.even_split import Split, ranks_of, split
from ..plan import V_SHAPED
from ..pricing.estimate import ceiling_bytes, memory_bound, one_row
from ..pricing.ranks import Ranks
from ..time import step
from .cp_sat_run import run

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Most layers that a rank may differ by from the even placement.
REACH = 3


def place(case: Case, layout: Mapping[str, int]) -> Split:
    """The best placement for a layout of decision variables: the even one where none is better, and in the
    shape of a V, whose ranks have a light and a heavy end each."""
    pp, vpp = layout["pp"], layout["vpp"]
    even = split(case.model, pp, vpp, layout.get("order", 0) in V_SHAPED)
    if pp == 1 or even.v_shaped:
        return even
    ranks = Ranks(case, one_row(case, layout))
    cost = _cost(ranks, even)
    most_bytes = _most_bytes(case, cost[1])
    improved = _solve(ranks, even, most_bytes)
    if improved is None:
        return even
    candidate = ranks_of(case.model, improved, pp)
    better = _cost(ranks, candidate)
    return candidate if better < cost and better[1] <= most_bytes else even


def _cost(ranks: Ranks, placement: Split) -> tuple[int, int]:
    """Nanoseconds of a step's slots and bubble, the slowest rank first in it, and bytes of the fullest rank,
    as estimates give them. Where the host paces, ranks with fewer layers may wait no less for it.
    """
    totals = [sum(parts.values()) for parts in ranks.slots(placement)]
    slowest, micro_batches = max(totals), ranks.x.variable("microbatches")
    bubble = step.bubble(ranks.x, slowest, sum(totals) - slowest)
    fullest = max(map(ranks.memory_kib, ranks.loads(placement)))
    return micro_batches * slowest + bubble, KIB * fullest


def _most_bytes(case: Case, even_bytes: int) -> int:
    """The limit on a rank's memory: what the goal leaves, or that of the even placement where a constraint
    contains memory and is no plain upper bound on it."""
    speaking = [each for each in case.hard if {"memory", "risk"} & names(each.expression)]
    if any(memory_bound(each, case) is None for each in speaking):
        return even_bytes
    return max(ceiling_bytes(case), even_bytes)


def _solve(ranks: Ranks, even: Split, most_bytes: int) -> tuple[int, ...] | None:
    """Layers of each chunk in model order, or None when the search ends without a solution.

    Variables are the layers per rank; `_dealt` derives those of its chunks.
    """
    from ortools.sat.python import cp_model

    pp, vpp, case = len(even.chunks), len(even.chunks[0]), ranks.x.case
    model, slope, base = cp_model.CpModel(), *_linear(ranks, even)
    totals = [_total(model, rank, sum(chunks), vpp, pp) for rank, chunks in enumerate(even.chunks)]
    model.add(sum(totals) == case.model.layers)
    goals = {name: model.new_int_var(0, 2**50, name) for name in slope}
    for rank, total in enumerate(totals):
        for name, goal in goals.items():
            model.add(goal >= total * slope[name][rank] + base[name][rank])
    model.add(goals["memory"] <= most_bytes // KIB)
    uneven = _unevenness(model, totals, case.model.layers // pp)
    answer = _minimise_in_turn(model, totals, (goals["time"], goals["memory"], uneven))
    counts = None if answer is None else _dealt(answer, vpp)
    leading = min(case.model.dense_layers, even.chunks[0][0]) if case.model.moe else 0
    return None if counts is None or counts[0] < leading else counts


def _total(model: cp_model.CpModel, rank: int, held: int, vpp: int, pp: int) -> cp_model.IntVar:
    """The layers of a rank as a variable; of all chunks only the model's first and last may be empty."""
    empty = 1 if rank in (0, pp - 1) else 0
    return model.new_int_var(max(vpp - empty, held - REACH), held + REACH, f"rank {rank}")


def _dealt(totals: tuple[int, ...], vpp: int) -> tuple[int, ...]:
    """Layers of each chunk in model order. A rank's chunks differ by at most one layer: the larger are the
    last on the first rank and the first elsewhere, so that embedding and head join the smallest."""
    pp = len(totals)
    counts = [0] * (pp * vpp)
    for rank, total in enumerate(totals):
        share, surplus = divmod(total, vpp)
        rich = range(vpp - surplus, vpp) if rank == 0 else range(surplus)
        for chunk in range(vpp):
            counts[chunk * pp + rank] = share + (1 if chunk in rich else 0)
    return tuple(counts)


def _linear(ranks: Ranks, even: Split) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Slope and intercept of each rank's time and memory in its layers: a line through the even placement and
    one layer more on its last chunk."""
    slope: dict[str, list[int]] = {"time": [], "memory": []}
    base: dict[str, list[int]] = {"time": [], "memory": []}
    pp, counts = len(even.chunks), _in_model_order(even)
    for rank in range(pp):
        last = len(counts) - pp + rank
        one_more = (*counts[:last], counts[last] + 1, *counts[last + 1 :])
        more = ranks_of(ranks.x.case.model, one_more, pp)
        here, there = _measure(ranks, even, rank), _measure(ranks, more, rank)
        for name in slope:
            slope[name].append(there[name] - here[name])
            base[name].append(here[name] - slope[name][-1] * sum(even.chunks[rank]))
    return slope, base


def _measure(ranks: Ranks, placement: Split, rank: int) -> dict[str, int]:
    """Nanoseconds of a micro-batch and KiB of memory on one rank."""
    load = ranks.load(placement, rank)
    return {"time": sum(ranks.slot(load).values()), "memory": ranks.memory_kib(load)}


def _in_model_order(even: Split) -> tuple[int, ...]:
    """Layers per chunk in model order: chunk k is on rank k % pp."""
    return tuple(chain.from_iterable(zip(*even.chunks, strict=True)))


def _unevenness(
    model: cp_model.CpModel, totals: list[cp_model.IntVar], share: int
) -> cp_model.LinearExprT:
    """Sum of distances from the even share; weights that rise with the rank break ties."""
    terms = []
    for rank, total in enumerate(totals):
        distance = model.new_int_var(0, 2 * share + 2 * REACH, "")
        model.add_abs_equality(distance, total - share)
        terms.append(distance * (len(totals) * 2 + rank))
    return sum(terms)


def _minimise_in_turn(
    model: cp_model.CpModel,
    counts: list[cp_model.IntVar],
    goals: tuple[cp_model.LinearExprT, ...],
) -> tuple[int, ...] | None:
    """The `counts` of the lexicographic minimum of `goals`; of the last phase solved where one ends early."""
    from ortools.sat.python import cp_model

    answer: tuple[int, ...] | None = None
    for goal in goals:
        model.minimize(goal)
        solver = cp_model.CpSolver()
        solver.parameters.max_deterministic_time = 2.0
        if run(solver, model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return answer
        answer = tuple(int(solver.value(count)) for count in counts)
        model.clear_hints()  # type: ignore[no-untyped-call]
        for count, value in zip(counts, answer, strict=True):
            model.add_hint(count, value)
        model.add(goal <= int(solver.objective_value))
    return answer
