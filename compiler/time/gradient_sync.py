"""Traffic of weights and gradients, and the optimizer: terms per parameter, and exposed nanoseconds of a
micro-batch and of a step. Terms take and return columns, one number per layout; `shard` is
dp_shard * cp, the group that ZeRO divides over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..algebra import KIBI, MEBI, NANO, Algebra, Column, Value, added, by_stage, term, whole
from ..case import Case
from ..pipeline.rank_load import COMMON, EXPERTS, Load
from . import layers
from . import parallel_traffic as traffic

#: Denominator of the share of overlapped traffic that does not overlap, kept as an integer.
LOST_PARTS = 10_000

# --- per parameter: ns per Mi-parameter, so that a rank's Ki-parameters times it stay whole numbers ---


@term("ns/Mi", of=("tp", "shard", "zero", "hpz", "offload", "accumulates"))
def gather_common(
    case: Case,
    tp: Column,
    shard: Column,
    zero: Column,
    hpz: Column,
    offload: Column,
    accumulates: Column,
) -> Column:
    """Nanoseconds per Mi-parameter, but for routed experts, of one micro-batch's weight gathers, and of sums
    of gradients copied between host and GPU."""
    seconds = traffic.gather_seconds(case, zero, shard, tp, hpz, offload)
    added = np.where(accumulates, traffic.host_sum_seconds(case, zero, shard, offload), 0.0)
    return NANO * MEBI * (seconds + added)


@term("ns/Mi", of=("expert_ways", "expert_shard", "zero"))
def gather_experts(case: Case, expert_ways: Column, expert_shard: Column, zero: Column) -> Column:
    """Nanoseconds per Mi-parameter of routed experts of one micro-batch's weight gathers."""
    return NANO * MEBI * traffic.gather_seconds(case, zero, expert_shard, expert_ways, 1, 0)


@term("ns/Mi", of=("tp", "shard", "dp_replicate", "zero"))
def reduce_common(
    case: Case, tp: Column, shard: Column, dp_replicate: Column, zero: Column
) -> Column:
    """Nanoseconds per Mi-parameter, but for routed experts, of one gradient reduction."""
    return NANO * MEBI * traffic.reduce_seconds(case, zero, shard, tp, dp_replicate)


@term("ns/Mi", of=("expert_ways", "expert_group", "zero"))
def reduce_experts(case: Case, expert_ways: Column, expert_group: Column, zero: Column) -> Column:
    """Nanoseconds per Mi-parameter of routed experts of one gradient reduction."""
    return NANO * MEBI * traffic.reduce_seconds(case, zero, expert_group, expert_ways, 1)


@term("ns/Mi", of=("tp", "shard", "zero"))
def regather_common(case: Case, tp: Column, shard: Column, zero: Column) -> Column:
    """Nanoseconds per Mi-parameter, but for routed experts, of the step's gather of updated weights."""
    seconds = traffic.regather_seconds(case, zero, shard, tp)
    return NANO * MEBI * np.where(_gathered_once(case, zero), seconds, 0.0)


@term("ns/Mi", of=("expert_ways", "expert_shard", "zero"))
def regather_experts(case: Case, expert_ways: Column, expert_shard: Column, zero: Column) -> Column:
    """Nanoseconds per Mi-parameter of routed experts of the step's gather of updated weights."""
    seconds = traffic.regather_seconds(case, zero, expert_shard, expert_ways)
    return NANO * MEBI * np.where(_gathered_once(case, zero), seconds, 0.0)


def _gathered_once(case: Case, zero: Column) -> Column:
    """True where updated weights are gathered once per step: ZeRO without gathers in each micro-batch."""
    zero = np.asarray(zero)
    return np.asarray((zero >= 1) & (by_stage(case.traits.wire.gathers, zero) == 0))


@term("1", of=("zero",))
def reduces_each(case: Case, zero: Column) -> Column:
    """1 where gradients are reduced after every micro-batch, 0 where once per step."""
    return by_stage(case.traits.wire.reduces_each, zero)


@term("ns/Mi", of=("zero",))
def copies(case: Case, zero: Column) -> Column:
    """Nanoseconds per Mi-parameter of one micro-batch's copies of gathered weights and of gradients."""
    return NANO * MEBI * layers.copies(case, zero)


@term("ns/Mi", of=("zero", "shard", "offload"))
def optimizer_common(case: Case, zero: Column, shard: Column, offload: Column) -> Column:
    """Nanoseconds per Mi-parameter, but for routed experts, of the optimizer's update."""
    return NANO * MEBI * traffic.optimizer_seconds(case, _owned_share(zero, shard), offload)


@term("ns/Mi", of=("zero", "expert_shard", "offload"))
def optimizer_experts(case: Case, zero: Column, expert_shard: Column, offload: Column) -> Column:
    """Nanoseconds per Mi-parameter of routed experts of the optimizer's update."""
    return NANO * MEBI * traffic.optimizer_seconds(case, _owned_share(zero, expert_shard), offload)


def _owned_share(zero: Column, shard: Column) -> Column:
    return np.where(np.asarray(zero) >= 1, 1.0 / np.maximum(shard, 1), 1.0)


def gathered_traffic(x: Algebra[Value], load: Load[Value]) -> Value:
    """Nanoseconds of one micro-batch's weight gathers on a rank."""
    total = x.times(load.common, x.term(gather_common))
    if x.case.model.moe:
        total = total + x.times(load.experts, x.term(gather_experts))
    return x.over(total, KIBI)


def reduced_traffic(x: Algebra[Value], load: Load[Value]) -> Value:
    """Nanoseconds of one micro-batch's gradient reduction on a rank; 0 where reduced once per step."""
    each = x.term(reduces_each)
    total = x.times(load.common, x.times(each, x.term(reduce_common)))
    if x.case.model.moe:
        total = total + x.times(load.experts, x.times(each, x.term(reduce_experts)))
    return x.over(total, KIBI)


def overlap_cost(x: Algebra[Value], overlapped: Value, work: Value) -> Value:
    """Nanoseconds that overlapped traffic adds to the work: what outlasts the work or does not overlap after
    all, and core contention."""
    lost = lost_overlap(x, overlapped)
    # `lost` is added to the work, not subtracted from `overlapped`: see `Algebra.excess`.
    return lost + x.excess(overlapped, work + lost) + core_contention(x, overlapped)


def lost_overlap(x: Algebra[Value], overlapped: Value) -> Value:
    """Nanoseconds of overlapped traffic that on this cluster do not overlap."""
    lost = whole(LOST_PARTS * x.case.cluster.overlap_lost)
    return x.over(x.times(overlapped, lost), LOST_PARTS) if np.any(lost) else x.number(0)


def core_contention(x: Algebra[Value], overlapped: Value) -> Value:
    """Nanoseconds by which overlapped traffic slows down the work, whose cores it occupies."""
    return x.over(x.times(overlapped, traffic.COMMUNICATION_CORES), x.case.gpu.sms)


def fullest(x: Algebra[Value], loads: Iterable[Load[Value]]) -> dict[str, Value]:
    """Ki-parameters of the rank that has most, outside and in routed experts."""
    common, experts = zip(*((load.common, load.experts) for load in loads), strict=True)
    return {"common": x.largest(*common), "experts": x.largest(*experts)}


def fullest_role(x: Algebra[Value]) -> dict[str, Value]:
    """`fullest` of the roles of ranks."""
    most = {"common": COMMON, "experts": EXPERTS} if x.case.model.moe else {"common": COMMON}
    return {
        kind: x.largest(*(x.term(terms[role]) for role in x.case.roles))
        for kind, terms in most.items()
    }


def step_traffic(x: Algebra[Value], window: Value, held: Mapping[str, Value]) -> Value:
    """Exposed nanoseconds per step of gradient reduction and weight gathering, with `held` as `fullest` has
    it.

    What a framework overlaps runs during the last backward and the first forward pass (`window`), all but
    the last bucket, and occupies their cores.
    """
    overlap, once = x.case.traits.overlap, 1 - x.term(reduces_each)
    reduced = {"common": x.times(once, x.term(reduce_common))}
    regathered = {"common": x.term(regather_common)}
    if x.case.model.moe:
        reduced["experts"] = x.times(once, x.term(reduce_experts))
        regathered["experts"] = x.term(regather_experts)
    overlapped: list[dict[str, Value]] = []
    exposed: list[dict[str, Value]] = []
    (overlapped if overlap.gradient_reduction else exposed).append(reduced)
    (overlapped if overlap.updated_weight_gather else exposed).append(regathered)
    last_bucket = added(x, [rate["common"] for rate in overlapped])
    added_time = _exposed(x, _rank_traffic(x, overlapped, held), window, last_bucket)
    return _rank_traffic(x, exposed, held) + added_time


def _rank_traffic(
    x: Algebra[Value], rates: Sequence[Mapping[str, Value]], held: Mapping[str, Value]
) -> Value:
    """Nanoseconds of traffic, given per Mi-parameter, on the rank with most parameters."""
    total = x.number(0)
    for rate in rates:
        for kind, value in rate.items():
            total = total + x.times(held[kind], value)
    return x.over(total, KIBI)


def _exposed(x: Algebra[Value], overlapped: Value, window: Value, rate: Value) -> Value:
    """Nanoseconds that a step's overlapped traffic adds: its last bucket, at `rate` per Mi-parameter, what
    outlasts the window or does not overlap after all, and core contention."""
    bucket = x.over(x.times(rate, traffic.BUCKET_PARAMETERS // KIBI), KIBI)
    last = 0 - x.largest(0 - overlapped, 0 - bucket)
    # `last` is added to the window, not subtracted from `overlapped`: see `Algebra.excess`.
    exposed = last + lost_overlap(x, overlapped - last)
    return exposed + x.excess(overlapped, window + exposed) + core_contention(x, overlapped - last)


def optimizer(x: Algebra[Value], held: Mapping[str, Value]) -> Value:
    """Nanoseconds of the optimizer step on the rank with most parameters."""
    total = x.times(held["common"], x.term(optimizer_common))
    if x.case.model.moe:
        total = total + x.times(held["experts"], x.term(optimizer_experts))
    return x.over(total, KIBI)


def copy_time(x: Algebra[Value], load: Load[Value]) -> Value:
    """Nanoseconds of one micro-batch's copies of gathered weights and of gradients on a rank."""
    if not any(layers.copied_bytes(x.case, stage) for stage in range(4)):
        return x.number(0)
    held = load.common + load.experts if x.case.model.moe else load.common
    return x.over(x.times(held, x.term(copies)), KIBI)
