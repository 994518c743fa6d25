"""A layout and its placement of layers -> `Estimate`: memory of every stage by term, step time by part."""

import math
from collections.abc import Mapping

import numpy as np

from ...dsl.expression import Call, Const, Name
from ...dsl.job import Constraint
from .. import risk
from ..algebra import KIB, Column, Integers, Numbers
from ..case import Case
from ..memory import model_states as kept
from ..memory import peak
from ..pipeline.even_split import Split, split
from ..pipeline.rank_load import Load, placed_load
from ..plan import Estimate, Layout, Stage
from ..time import step
from ..variables import with_derived
from .quantities import time_quantities


def one_row(case: Case, layout: Mapping[str, int]) -> dict[str, Integers]:
    """All variables of a layout, derived ones too, as columns of one row; `layout` gives every decision."""
    decided = {name: np.array([value], dtype=np.int64) for name, value in layout.items()}
    return with_derived(case.job, decided)


def layout_of(columns: Mapping[str, Integers]) -> Layout:
    """The layout in columns of one row."""
    return Layout(**{name: int(np.ravel(columns[name])[0]) for name in Layout.model_fields})


def ceiling_bytes(case: Case) -> int:
    """Memory limit of a rank: the GPU's, or the lowest upper bound that a constraint of the goal sets."""
    bounds = [memory_bound(constraint, case.gpu.memory) for constraint in case.conditions]
    return min([case.gpu.memory, *(bound for bound in bounds if bound is not None)])


def memory_bound(constraint: Constraint, found_bytes: float) -> int | None:
    """The bytes of `found_bytes` to which a constraint limits every rank; None where it is no upper bound on
    memory or risk alone."""
    match constraint.kind, constraint.expression:
        case ("require", Call("<=" | "<", (Name("risk"), Const(value)))) | (
            "forbid",
            Call(">" | ">=", (Name("risk"), Const(value))),
        ):
            return int(min(risk.bytes_at(value, found_bytes), found_bytes))
        case ("require", Call("<=", (Name("memory"), Const(value)))) | (
            "forbid",
            Call(">", (Name("memory"), Const(value))),
        ):
            return int(value)
        case ("require", Call("<", (Name("memory"), Const(value)))) | (
            "forbid",
            Call(">=", (Name("memory"), Const(value))),
        ):
            return math.ceil(value) - 1
    return None


def estimate_layout(
    case: Case, layout: Mapping[str, int], placement: Split | None = None
) -> Estimate:
    """Price a layout that gives every decision; `placement` defaults to the even one."""
    columns = one_row(case, layout)
    chosen = layout_of(columns)
    placement = placement or split(case.model, chosen.pp, chosen.vpp)
    time = time_by_part(case, columns, placement)
    totals = (np.array([value]) for value in (sum(time.values()), time.get("bubble", 0)))
    found = time_quantities(case, columns, *totals)
    values = {name: float(np.ravel(value)[0]) for name, value in found.items()}
    return Estimate(
        layout=chosen,
        stages=stages(case, columns, placement),
        capacity_bytes=case.gpu.memory,
        ceiling_bytes=ceiling_bytes(case),
        time={part: value / 1e9 for part, value in time.items()},
        step_seconds=values["step_time"],
        mfu=values["mfu"],
        mfu_full_attention=values["mfu"] * case.model_flops_full_attention / case.model_flops,
        hfu=values["hfu"],
        tokens_per_second=values["tokens_per_second"],
        days=values["days"] / 86400,
        cost=values["cost"],
        energy_joules=values["energy"],
        bubble=values["bubble"],
        step_spread=case.gpu.step_spread,
    )


def numbers(case: Case, columns: Mapping[str, Integers]) -> Numbers:
    """The algebra of one layout, from columns of one row."""
    return Numbers(case, {name: int(np.ravel(column)[0]) for name, column in columns.items()})


def rank_slot(x: Numbers, placement: Split, rank: int) -> dict[str, int]:
    """Nanoseconds of one micro-batch by part on one pipeline rank."""
    return step.slot(x, placed_load(x.case, x.columns, placement, rank))


def rank_slots(x: Numbers, placement: Split) -> list[dict[str, int]]:
    """Nanoseconds of one micro-batch by part, for each pipeline rank in order."""
    return [rank_slot(x, placement, rank) for rank in range(len(placement.chunks))]


def time_by_part(case: Case, columns: Mapping[str, Integers], placement: Split) -> dict[str, int]:
    """Nanoseconds of a step by part on the slowest rank; the parts add up to the step."""
    x = numbers(case, columns)
    slots = rank_slots(x, placement)
    slowest = max(range(len(slots)), key=lambda rank: sum(slots[rank].values()))
    others = sum(sum(parts.values()) for parts in slots) - sum(slots[slowest].values())
    parts = step.step_parts(x, slots[slowest], others)
    return {part: value for part, value in parts.items() if value}


def stages(case: Case, columns: Mapping[str, Integers], placement: Split) -> tuple[Stage, ...]:
    """Every pipeline rank with its memory by term."""
    x = numbers(case, columns)
    widths = state_widths(x)
    loads = [placed_load(case, x.columns, placement, rank) for rank in range(len(placement.chunks))]
    return tuple(
        Stage(
            index=rank,
            layers=placement.chunks[rank],
            embedding=load.first,
            head=load.last,
            memory=stage_memory(x, load, widths),
        )
        for rank, load in enumerate(loads)
    )


#: Bytes per parameter by kind of state: outside routed experts, and in them.
Widths = tuple[dict[str, Column], dict[str, Column]]


def state_widths(x: Numbers) -> Widths:
    """Bytes per parameter of weights, gradients and optimizer state under a layout's ZeRO stage."""
    zero, offload, hpz = (x.variable(name) for name in ("zero", "offload", "hpz"))
    common, routed = (
        kept.state_widths(x.case, zero, x.variable(shard), offload, hpz)
        for shard in ("shard", "expert_shard")
    )
    return common, routed


def stage_memory(x: Numbers, load: Load[int], widths: Widths) -> dict[str, int]:
    """Bytes on one pipeline rank by term at its peak; the terms add up to the solver's `rank_memory`.
    States are split by kind, and the transient memory into activations and what is allocated on top of them.
    """
    total = {term: kib * KIB for term, kib in peak.rank_memory(x, load).items()}
    moments = {name: kib * KIB for name, kib in peak.moments(x, load).items()}
    fullest = max(moments, key=lambda name: moments[name])
    updating = fullest == "update"
    absent = 0 if updating else KIB * peak.unallocated_gradients(x, load)
    activations = 0 if updating else KIB * peak.activations(x, load)
    transient = moments[fullest] - activations + absent
    states = _states(load, widths, total["states"], absent)
    return {
        **states,
        "weights": states["weights"] + total["copied_weights"],
        "activations": activations,
        "logits": transient if fullest == "logits" else 0,
        "workspace": 0 if fullest == "logits" else transient,
        "fragments": total["fragments"],
        "buffers": total["buffers"],
    }


def _states(load: Load[int], widths: Widths, whole: int, absent: int) -> dict[str, int]:
    """`whole` bytes of model states split by kind, less `absent` bytes of gradients not yet allocated."""
    common, routed = widths
    parts = {
        kind: float(load.common * common[kind] + load.experts * routed[kind]) for kind in common
    }
    scale = whole / max(sum(parts.values()), 1e-9)
    weights, gradients = (int(parts[kind] * scale) for kind in ("weights", "gradients"))
    absent = min(absent, gradients)
    return {
        "weights": weights,
        "gradients": gradients - absent,
        "optimizer": whole - weights - gradients,
    }
