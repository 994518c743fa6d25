"""Layers to pipeline stages: a small CP-SAT model that makes the slowest rank of a chosen layout as fast as it can be.

Among placements with the same slowest rank it takes the one whose fullest rank is emptiest, then the one nearest to even.
Llama 3's 126 layers on 16 stages (arXiv 2407.21783, 3.3.2: one layer less on the first and the last) comes out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .case import Case
from .estimate import columns_of, rank_slot, rank_slots, stages
from .ranks import placed_load, rank_memory
from .solver import run
from .split import Split, ranks_of, split
from .terms import Arrays

#: Candidates per chunk reach this far from the even share.
REACH = 3


def place(case: Case, layout: Mapping[str, int]) -> Split:
    """The best placement for a layout of decision variables; the even one when there is nothing to choose."""
    pp, vpp = layout["pp"], layout["vpp"]
    even = split(case.model, pp, vpp)
    if pp == 1:
        return even
    columns = columns_of(case, layout)
    improved = _solve(case, columns, even, pp, vpp)
    if improved is None:
        return even
    candidate = ranks_of(case.model, improved, pp)
    return candidate if _cost(case, columns, candidate) < _cost(case, columns, even) else even


def _cost(case: Case, columns: Mapping[str, Any], placement: Split) -> tuple[int, int]:
    """Nanoseconds of the slowest rank and bytes of the fullest, by the same functions as the estimate."""
    slots = rank_slots(case, columns, placement)
    filled = stages(case, columns, placement)
    return max(sum(parts.values()) for parts in slots), max(each.memory_bytes for each in filled)


def _solve(
    case: Case, columns: Mapping[str, Any], even: Split, pp: int, vpp: int
) -> tuple[int, ...] | None:
    """Layers of each chunk in model order, or None when the search ends without an answer."""
    from ortools.sat.python import cp_model

    chunks, layers = pp * vpp, case.model.layers
    model = cp_model.CpModel()
    counts = [_count(model, chunk, chunks, layers) for chunk in range(chunks)]
    model.add(sum(counts) == layers)
    if case.model.moe and case.model.dense_layers:
        model.add(counts[0] >= min(case.model.dense_layers, even.chunks[0][0]))
    slope, base = _linear(case, columns, even, pp, vpp)
    slowest = model.new_int_var(0, 2**50, "slowest")
    fullest = model.new_int_var(0, 2**50, "fullest")
    for rank in range(pp):
        held = sum(counts[rank::pp])
        model.add(slowest >= held * slope["time"][rank] + base["time"][rank])
        model.add(fullest >= held * slope["memory"][rank] + base["memory"][rank])
    uneven = _unevenness(model, counts, layers // chunks)
    return _minimise_in_turn(model, counts, (slowest, fullest, uneven))


def _count(model: Any, chunk: int, chunks: int, layers: int) -> Any:
    share = layers // chunks
    low = 0 if chunk in (0, chunks - 1) else 1
    return model.new_int_var(max(low, share - REACH), share + REACH + 1, f"chunk {chunk}")


def _linear(
    case: Case, columns: Mapping[str, Any], even: Split, pp: int, vpp: int
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Time and memory of each rank as a line in its layers, through the even placement and one layer more."""
    slope: dict[str, list[int]] = {"time": [], "memory": []}
    base: dict[str, list[int]] = {"time": [], "memory": []}
    x, one = Arrays(case, columns), {name: int(column[0]) for name, column in columns.items()}
    for rank in range(pp):
        more = ranks_of(case.model, _one_more(even, rank), pp)
        here, there = _measure(x, one, even, rank), _measure(x, one, more, rank)
        for name in slope:
            slope[name].append(there[name] - here[name])
            base[name].append(here[name] - slope[name][-1] * sum(even.chunks[rank]))
    return slope, base


def _measure(x: Arrays, columns: Mapping[str, int], placement: Split, rank: int) -> dict[str, int]:
    """Nanoseconds of a micro-batch and KiB on one rank."""
    load = placed_load(x.case, columns, placement, rank)
    filled = sum(int(np.ravel(kib)[0]) for kib in rank_memory(x, load).values())
    return {"time": sum(rank_slot(x, columns, placement, rank).values()), "memory": filled}


def _one_more(even: Split, rank: int) -> tuple[int, ...]:
    """Layers of each chunk in model order, with one more on the rank's last chunk."""
    pp, vpp = len(even.chunks), len(even.chunks[0])
    counts = [even.chunks[chunk % pp][chunk // pp] for chunk in range(pp * vpp)]
    counts[(vpp - 1) * pp + rank] += 1
    return tuple(counts)


def _unevenness(model: Any, counts: list[Any], share: int) -> Any:
    """Sum of distances from the even share, later chunks weighing more so that the answer is unique."""
    terms = []
    for index, count in enumerate(counts):
        distance = model.new_int_var(0, REACH + 2, "")
        model.add_abs_equality(distance, count - share)
        terms.append(distance * (len(counts) * 2 + index))
    return sum(terms)


def _minimise_in_turn(
    model: Any, counts: list[Any], goals: tuple[Any, ...]
) -> tuple[int, ...] | None:
    from ortools.sat.python import cp_model

    answer: tuple[int, ...] | None = None
    for goal in goals:
        model.minimize(goal)
        solver = cp_model.CpSolver()
        solver.parameters.max_deterministic_time = 2.0
        if run(solver, model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return answer
        answer = tuple(int(solver.value(count)) for count in counts)
        model.clear_hints()
        for count, value in zip(counts, answer, strict=True):
            model.add_hint(count, value)
        model.add(goal <= int(solver.objective_value))
    return answer
