"""Columns of layouts -> their prices in integers, and the quantities of goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from .. import risk
from ..algebra import Array, Arrays, Integers, added
from ..case import Case
from ..memory.peak import host_memory, peak_memory
from ..model import flops
from ..pipeline.rank_load import RECOMPUTED_IN_ALL
from ..time.step import step_time
from ..variables import PLACE, WHOLE_MOE, discards
from .goodput import goodput

#: Denominator of the bubble's share of a step, kept as an integer.
SHARE = 10**5
#: Quantities that fall as step time rises.
INVERSE = ("mfu", "tokens_per_second")


@dataclass(frozen=True)
class Prices:
    """Totals of many layouts, one row each: nanoseconds per step, KiB per GPU."""

    step_ns: Integers
    bubble_ns: Integers
    memory_kib: Integers
    host_kib: Integers


def price(case: Case, columns: Mapping[str, Integers]) -> Prices:
    """Price many layouts; `columns` holds every variable, derived ones included, in equally long arrays.
    Without a placement layers are placed evenly."""
    columns = {PLACE: np.zeros_like(columns["tp"]), **columns}
    totals = np.empty((len(fields(Prices)), *columns["tp"].shape), dtype=np.int64)
    for rows, block in Arrays(case, columns).blocks():
        found = (*step_time(block), peak_memory(block), host_memory(block))
        for total, value in zip(totals, found, strict=True):
            total[rows] = value
    return Prices(*totals)


def times(case: Case, columns: Mapping[str, Integers]) -> tuple[Integers, Integers]:
    """The nanoseconds of `price` alone, of a step and of its bubble; memory is not looked at."""
    columns = {PLACE: np.zeros_like(columns["tp"]), **columns}
    step_ns, bubble_ns = np.empty((2, *columns["tp"].shape), dtype=np.int64)
    for rows, block in Arrays(case, columns).blocks():
        step_ns[rows], bubble_ns[rows] = step_time(block)
    return step_ns, bubble_ns


def recomputed_layers(case: Case, columns: Mapping[str, Integers]) -> Integers:
    """Fully recomputed layers of the whole model, by layout."""
    x = Arrays(case, columns)
    return added(x, (x.term(each) for each in RECOMPUTED_IN_ALL.values()))


def recomputed_flops(case: Case, full_layers: Array, recompute: Array) -> Array:
    """FLOP per step that recomputation adds: the forward pass of `full_layers` layers, and at `recompute` 1
    3 or 4 the part of every layer that selective, fine or whole-MoE recomputation repeats."""
    forward = flops.forward(case.model, case.seq_len)
    core, feed_forward = forward.attention_core, forward.dense_ffn + forward.moe_ffn
    layers = forward.attention_linear + core + feed_forward
    selective = {
        "core_attention": core,
        "per_op": forward.attention_linear / 2 + forward.dense_ffn / 3,
        "feed_forward": feed_forward,
    }[case.traits.memory.selective]
    discarded = case.traits.memory.discarded
    fine = forward.dense_ffn if "dense_ffn" in discarded else 0.0
    if "up_projections" in discarded:
        fine += case.model.layers * flops.up_projections(case.model)
    full = full_layers / case.model.layers * layers
    parts = np.where(np.asarray(recompute) == 1, selective, 0.0)
    experts = np.where(np.equal(recompute, WHOLE_MOE), forward.moe_ffn, 0.0)
    return (full + experts + np.where(discards(recompute), fine, parts)) * case.step_tokens


def gpu_dollars(case: Case, gpus: Array) -> Array:
    """Price of so many GPUs, $ per second."""
    return case.cluster.price * gpus


def gpu_watts(case: Case, gpus: Array) -> Array:
    """Power of so many GPUs with their share of the nodes, watts."""
    return (case.gpu.drawn + (case.cluster.reserved_power or 0.0)) * gpus


def quantities(case: Case, columns: Mapping[str, Integers], prices: Prices) -> dict[str, Array]:
    """Every quantity of `dsl.expression.QUANTITIES` in base units, for columns of layouts."""
    follow = time_quantities(case, columns, prices.step_ns, prices.bubble_ns)
    memory = np.asarray(prices.memory_kib * 1024, dtype=np.float64)
    chance = risk.out_of_memory_each(memory, case.gpu.memory, case.target.memory_spread)
    return {"memory": prices.memory_kib * 1024, "risk": chance, **follow}


def time_quantities(
    case: Case, columns: Mapping[str, Integers], step_ns: Integers, bubble_ns: Integers
) -> dict[str, Array]:
    """The quantities that follow from the time of a step and of its bubble, in base units. The bubble's share
    is rounded down to 1 / SHARE, as in the solver."""
    repeated = recomputed_flops(case, recomputed_layers(case, columns), columns["recompute"])
    peak = case.job.peak_flops * np.asarray(columns["gpus"]) * (step_ns / 1e9)
    return {
        **per_step(case, columns["gpus"], step_ns),
        "hfu": (case.model_flops + repeated) / peak,
        "bubble": (bubble_ns * SHARE // np.maximum(step_ns, 1)) / SHARE,
    }


def per_step(case: Case, gpus: Array, step_ns: Integers) -> dict[str, Array]:
    """The quantities that follow from the time of a step and the GPUs alone, in base units; those of the
    whole run by wall-clock time."""
    seconds = step_ns / 1e9
    run = seconds * case.job.full_batches / goodput(case, gpus)
    return {
        "step_time": seconds,
        "mfu": case.model_flops / (case.job.peak_flops * np.asarray(gpus) * seconds),
        "tokens_per_second": case.step_tokens / seconds,
        "days": run,
        "cost": run * gpu_dollars(case, gpus),
        "energy": run * gpu_watts(case, gpus),
    }


def value_of(case: Case, quantity: str, layout: Mapping[str, int]) -> float:
    """One quantity of one layout in base units, or a variable; `layout` gives every variable, derived ones
    included."""
    if quantity in layout:
        return float(layout[quantity])
    columns = {name: np.array([value], dtype=np.int64) for name, value in layout.items()}
    return float(np.ravel(quantities(case, columns, price(case, columns))[quantity])[0])
