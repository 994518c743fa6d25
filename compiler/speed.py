"""Time of one step: terms in nanoseconds of the critical path, and their sum.

A step is `microbatches` slots of the slowest rank, the pipeline's bubble, gradient and weight traffic that
nothing hides, the optimizer, and fixed overhead. The first micro-batch passes every rank before the slowest
one sets the pace, so the bubble is one slot of each other rank, or the vpp-th part of it interleaved; with
equal ranks the (pp - 1) / vpp slots of Narayanan et al. 2021, arXiv 2104.04473, 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import communication as traffic
from . import compute, products
from .case import Case
from .ranks import COMMON, EXPERTS, Load, all_ranks, kinds, role_load
from .split import ROLES
from .terms import Algebra, term

NANO = 1e9
MEBI = 2**20
KIBI = 2**10
#: Half-layers' worth of launches in the forward pass of a block. Those of experts add router, permutation
#: and grouped products.
HALVES = {"dense": 2, "moe": 3}

# --- one layer and one micro-batch ---


@term("ns", of=("tp", "cp", "micro_batch"))
def attention_forward(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    return NANO * compute.attention(case, tp, cp, micro_batch)


@term("ns", of=("tp", "cp", "micro_batch"))
def attention_backward(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    return NANO * compute.attention_backward(case, tp, cp, micro_batch)


@term("ns", of=("tp", "tokens"))
def dense_forward(case: Case, tp: Any, tokens: Any) -> Any:
    return NANO * compute.dense_ffn(case, tp, tokens)


@term("ns", of=("tp", "tokens"))
def dense_backward(case: Case, tp: Any, tokens: Any) -> Any:
    return NANO * compute.dense_ffn_backward(case, tp, tokens)


@term("ns", of=("tp", "tokens", "ep", "etp"))
def moe_forward(case: Case, tp: Any, tokens: Any, ep: Any, etp: Any) -> Any:
    return NANO * compute.moe_ffn(case, tp, tokens, ep, etp)


@term("ns", of=("tp", "tokens", "ep", "etp"))
def moe_backward(case: Case, tp: Any, tokens: Any, ep: Any, etp: Any) -> Any:
    return NANO * compute.moe_ffn_backward(case, tp, tokens, ep, etp)


@term("ns", of=("tp", "tokens"))
def tensor_forward(case: Case, tp: Any, tokens: Any) -> Any:
    """Collectives of one half-layer."""
    return NANO * traffic.tensor(case, tp, tokens)


@term("ns", of=("tp", "cp", "micro_batch"))
def context_forward(case: Case, tp: Any, cp: Any, micro_batch: Any) -> Any:
    return NANO * traffic.context(case, tp, cp, micro_batch)


@term("ns", of=("tp", "tokens", "ep", "etp"))
def expert_forward(case: Case, tp: Any, tokens: Any, ep: Any, etp: Any) -> Any:
    return NANO * traffic.experts(case, tp, tokens, ep, etp)


@term("ns", of=("tp", "cp", "micro_batch", "recompute"))
def selective_attention(case: Case, tp: Any, cp: Any, micro_batch: Any, recompute: Any) -> Any:
    """Selective recompute's repeat in the attention half: the core, or half of the projections."""
    tokens = micro_batch * case.seq_len / cp
    repeated = {
        "core_attention": lambda: compute.attention_core(case, tp, cp, micro_batch),
        "per_op": lambda: compute.projections(case, tp, tokens) / 2
        + products.streamed(case, compute.attention_streams(case, tp, tokens)),
        "feed_forward": lambda: 0.0 * tokens * tp,
    }[case.traits.selective]()
    return np.where(recompute == 1, NANO * repeated, 0.0)


@term("ns", of=("tp", "tokens", "recompute"))
def selective_dense(case: Case, tp: Any, tokens: Any, recompute: Any) -> Any:
    """Selective recompute's repeat in a dense feed-forward half: nothing, one of three products,
    or all of it."""
    share = {"core_attention": 0.0, "per_op": 1 / 3, "feed_forward": 1.0}[case.traits.selective]
    return np.where(recompute == 1, NANO * share * compute.dense_ffn(case, tp, tokens), 0.0)


@term("ns", of=("tp", "tokens"))
def head_both(case: Case, tp: Any, tokens: Any) -> Any:
    return NANO * (compute.head(case, tp, tokens) + compute.mtp_block(case, tp, tokens))


@term("1", of=("pp",))
def one_stage(case: Case, pp: Any) -> Any:
    """1 where the last rank is the first too, and holds the embedding."""
    return np.asarray(pp) == 1


@term("ns", of=("tp", "tokens"))
def embedding_both(case: Case, tp: Any, tokens: Any) -> Any:
    return NANO * compute.embedding(case, tp, tokens)


@term("ns", of=("tp", "tokens", "pp", "gpus"))
def boundary_both(case: Case, tp: Any, tokens: Any, pp: Any, gpus: Any) -> Any:
    """Activations in, gradients out."""
    return 2 * NANO * traffic.boundary(case, tp, tokens, pp, gpus)


@term("ns", of=("pp", "vpp", "gpus"))
def boundary_latency(case: Case, pp: Any, vpp: Any, gpus: Any) -> Any:
    """Latency of the messages of one micro-batch when interleaving hides their transfer:
    two per virtual stage."""
    return np.where(vpp > 1, 2 * NANO * vpp * traffic.boundary(case, 1, 0, pp, gpus), 0.0)


@term("1", of=("vpp",))
def sends_openly(case: Case, vpp: Any) -> Any:
    """1 where a stage waits for its neighbours: 1F1B without interleaving."""
    return np.asarray(vpp) == 1


# --- per parameter: ns per Mi-parameter, so that a rank's Ki-parameters times it stay whole numbers ---


@term("ns/Mi", of=("tp", "shard", "zero", "hpz", "offload"))
def gather_common(case: Case, tp: Any, shard: Any, zero: Any, hpz: Any, offload: Any) -> Any:
    return NANO * MEBI * traffic.gather_seconds(case, zero, shard, tp, hpz, offload)


@term("ns/Mi", of=("expert_ways", "expert_shard", "zero"))
def gather_experts(case: Case, expert_ways: Any, expert_shard: Any, zero: Any) -> Any:
    return NANO * MEBI * traffic.gather_seconds(case, zero, expert_shard, expert_ways, 1, 0)


@term("ns/Mi", of=("tp", "shard", "dp_replicate", "zero"))
def reduce_common(case: Case, tp: Any, shard: Any, dp_replicate: Any, zero: Any) -> Any:
    return NANO * MEBI * traffic.reduce_seconds(case, zero, shard, tp, dp_replicate)


@term("ns/Mi", of=("expert_ways", "expert_group", "zero"))
def reduce_experts(case: Case, expert_ways: Any, expert_group: Any, zero: Any) -> Any:
    return NANO * MEBI * traffic.reduce_seconds(case, zero, expert_group, expert_ways, 1)


@term("ns/Mi", of=("tp", "shard", "zero"))
def regather_common(case: Case, tp: Any, shard: Any, zero: Any) -> Any:
    return NANO * MEBI * np.where(_once(case, zero), traffic.regather_seconds(case, shard, tp), 0.0)


@term("ns/Mi", of=("expert_ways", "expert_shard", "zero"))
def regather_experts(case: Case, expert_ways: Any, expert_shard: Any, zero: Any) -> Any:
    seconds = traffic.regather_seconds(case, expert_shard, expert_ways)
    return NANO * MEBI * np.where(_once(case, zero), seconds, 0.0)


def _once(case: Case, zero: Any) -> Any:
    """Where weights are divided or updated in shards, but gathered once per step."""
    zero = np.asarray(zero)
    passes = np.array([case.traits.gathers(stage) for stage in range(4)])[zero]
    return (zero >= 1) & (passes == 0)


@term("1", of=("zero",))
def reduces_each(case: Case, zero: Any) -> Any:
    """1 where gradients travel after every micro-batch."""
    return np.array([bool(case.traits.reduces_each(stage)) for stage in range(4)])[np.asarray(zero)]


@term("ns/Mi", of=("zero",))
def copies(case: Case, zero: Any) -> Any:
    """Per parameter of a rank and micro-batch."""
    return NANO * MEBI * compute.copies(case, zero)


@term("ns/Mi", of=("zero", "shard", "offload"))
def optimizer_common(case: Case, zero: Any, shard: Any, offload: Any) -> Any:
    return NANO * MEBI * traffic.optimizer_seconds(case, _owned(zero, shard), offload)


@term("ns/Mi", of=("zero", "expert_shard", "offload"))
def optimizer_experts(case: Case, zero: Any, expert_shard: Any, offload: Any) -> Any:
    return NANO * MEBI * traffic.optimizer_seconds(case, _owned(zero, expert_shard), offload)


def _owned(zero: Any, shard: Any) -> Any:
    return np.where(np.asarray(zero) >= 1, 1.0 / np.maximum(shard, 1), 1.0)


# --- totals ---

Parts = dict[str, Any]


def layer_forward(x: Algebra, kind: str) -> Parts:
    """Forward nanoseconds of one block by part."""
    common = {
        "compute": x.term(attention_forward),
        "tp": x.term(tensor_forward),
        "cp": x.term(context_forward),
    }
    if kind == "dense":
        return {
            **common,
            "compute": common["compute"] + x.term(dense_forward),
            "tp": 2 * common["tp"],
        }
    return {
        **common,
        "compute": common["compute"] + x.term(moe_forward),
        "ep": x.term(expert_forward),
    }


def layer_both(x: Algebra, kind: str) -> Parts:
    """Forward and backward nanoseconds of one block by part, selective recompute included."""
    forward = layer_forward(x, kind)
    backward = x.term(attention_backward) + x.term(
        dense_backward if kind == "dense" else moe_backward
    )
    parts = {part: 2 * value for part, value in forward.items()}
    parts["compute"] = forward["compute"] + backward
    parts["cp"] = 3 * forward["cp"]
    parts["recompute"] = x.term(selective_attention)
    if kind == "dense":
        parts["recompute"] = parts["recompute"] + x.term(selective_dense)
    return parts


def rank_work(x: Algebra, load: Load) -> Parts:
    """Nanoseconds of one micro-batch on a rank by part, before weight gathering."""
    parts: Parts = {}
    for kind, both in blocks(x, load):
        for part, value in layer_both(x, kind).items():
            _add(parts, part, x.times(both, value))
    busy = parts["compute"] + parts["recompute"]
    for kind in kinds(x.case):
        again = layer_forward(x, kind)
        repeated = {part: x.times(load.repeated[kind], value) for part, value in again.items()}
        busy = busy + repeated["compute"]
        _add(parts, "recompute", sum(repeated.values()))
    gaps = launches(x, load, x.case.traits.gap_seconds)
    launched = launches(x, load, x.case.traits.host_seconds)
    _add(parts, "host", gaps)
    _add(parts, "host", launched if x.case.traits.blocking else x.excess(launched, busy + gaps))
    if load.first:
        _add(parts, "compute", x.term(embedding_both))
    elif load.last:
        _add(parts, "compute", x.times(x.term(one_stage), x.term(embedding_both)))
    if load.last:
        _add(parts, "compute", x.term(head_both))
    if x.case.traits.gather_copy_bytes or x.case.traits.reduce_copy_bytes:
        held = load.common + load.experts if x.case.model.moe else load.common
        _add(parts, "compute", x.over(x.times(held, x.term(copies)), KIBI))
    _add(parts, "other", x.variable("vpp") * round(x.case.traits.micro_batch_overhead * NANO))
    return parts


def blocks(x: Algebra, load: Load) -> list[tuple[str, Any]]:
    """Kinds of blocks and how many of each pace a rank, those of MTP included."""
    found = [(kind, load.paced[kind]) for kind in kinds(x.case)]
    if load.last and x.case.model.mtp_layers:
        found.append((kinds(x.case)[-1], x.case.model.mtp_layers))
    return found


def launches(x: Algebra, load: Load, seconds: float) -> Any:
    """Nanoseconds of one micro-batch when a forward half-layer takes `seconds`: the forward pass, a backward
    pass of twice as many kernels, and what is recomputed."""
    forward = {kind: HALVES[kind] * round(seconds * NANO) for kind in kinds(x.case)}
    total = sum(3 * x.times(count, forward[kind]) for kind, count in blocks(x, load))
    return total + sum(x.times(load.repeated[kind], forward[kind]) for kind in kinds(x.case))


def slot(x: Algebra, load: Load) -> Parts:
    """Nanoseconds that one micro-batch occupies a rank: work, and the traffic that outlasts it."""
    parts, traits = rank_work(x, load), x.case.traits
    kinds_of_traffic = (
        (any(map(traits.gathers, range(4))), traits.overlaps_gather, gathered_traffic),
        (any(map(traits.reduces_each, range(4))), traits.overlaps_each, reduced_traffic),
    )
    shown = [(overlaps, found(x, load)) for runs, overlaps, found in kinds_of_traffic if runs]
    if shown:
        work = sum(parts.values())
        parts["dp"] = _beside(x, sum(traffic for overlaps, traffic in shown if overlaps), work)
        parts["dp"] = parts["dp"] + sum(traffic for overlaps, traffic in shown if not overlaps)
    return parts


def gathered_traffic(x: Algebra, load: Load) -> Any:
    """Nanoseconds per micro-batch of weight gathering."""
    total = x.times(load.common, x.term(gather_common))
    if x.case.model.moe:
        total = total + x.times(load.experts, x.term(gather_experts))
    return x.over(total, KIBI)


def reduced_traffic(x: Algebra, load: Load) -> Any:
    """Nanoseconds per micro-batch of gradients where each micro-batch reduces."""
    each = x.term(reduces_each)
    total = x.times(load.common, x.times(each, x.term(reduce_common)))
    if x.case.model.moe:
        total = total + x.times(load.experts, x.times(each, x.term(reduce_experts)))
    return x.over(total, KIBI)


def _beside(x: Algebra, behind: Any, work: Any) -> Any:
    """Nanoseconds that traffic beside work costs: what outlasts it, and the cores that it takes from it."""
    taken = x.over(x.times(behind, traffic.COMMUNICATION_CORES), x.case.gpu.sms)
    return x.excess(behind, work) + taken


def boundary(x: Algebra) -> Any:
    """Nanoseconds per micro-batch of handing activations on; interleaving
    sends more but shows only the latency."""
    if "pp" not in x.case.domains:
        return 0
    return x.times(x.term(sends_openly), x.term(boundary_both)) + x.term(boundary_latency)


def step_traffic(x: Algebra, window: Any) -> Any:
    """Exposed nanoseconds per step of gradient reduction and weight gathering.

    What a framework overlaps runs beside the last backward and the first forward pass (`window`), all but
    the last bucket, and takes cores from them.
    """
    traits, once = x.case.traits, 1 - x.term(reduces_each)
    reduced = {"common": x.times(once, x.term(reduce_common))}
    regathered = {"common": x.term(regather_common)}
    if x.case.model.moe:
        reduced["experts"] = x.times(once, x.term(reduce_experts))
        regathered["experts"] = x.term(regather_experts)
    rates = ((reduced, traits.overlaps_reduce), (regathered, traits.overlaps_regather))
    behind = _of_rank(x, [rate for rate, overlaps in rates if overlaps])
    return _of_rank(x, [rate for rate, overlaps in rates if not overlaps]) + _last_open(
        x, behind, window, [rate["common"] for rate, overlaps in rates if overlaps]
    )


def _of_rank(x: Algebra, rates: Sequence[Parts]) -> Any:
    """Nanoseconds of traffic at some rates per Mi-parameter on the rank with most parameters."""
    most = {"common": COMMON, "experts": EXPERTS}
    total: Any = 0
    for rate in rates:
        for kind, value in rate.items():
            held = x.largest(*(x.term(most[kind][role]) for role in ROLES))
            total = total + x.times(held, value)
    return x.over(total, KIBI)


def _last_open(x: Algebra, behind: Any, window: Any, rates: Sequence[Any]) -> Any:
    """Nanoseconds that traffic of a step costs beside its window: the last bucket, and what outlasts it."""
    bucket = x.over(x.times(sum(rates), traffic.BUCKET_PARAMETERS // KIBI), KIBI)
    last = 0 - x.largest(0 - behind, 0 - bucket)
    return last + _beside(x, behind - last, window)


def optimizer(x: Algebra) -> Any:
    """Nanoseconds of the optimizer step on the rank with most parameters."""
    total = x.times(x.largest(*(x.term(COMMON[role]) for role in ROLES)), x.term(optimizer_common))
    if x.case.model.moe:
        most = x.largest(*(x.term(EXPERTS[role]) for role in ROLES))
        total = total + x.times(most, x.term(optimizer_experts))
    return x.over(total, KIBI)


def step_parts(x: Algebra, work: Parts, others: Any) -> Parts:
    """Nanoseconds of a step by part, when the slowest rank's micro-batch takes `work` and those of all
    other ranks together `others`."""
    microbatches, pp = x.variable("microbatches"), x.variable("pp")
    handed = boundary(x)
    one = sum(work.values())
    parts = {part: value + x.times(microbatches - 1, value) for part, value in work.items()}
    _add(parts, "pp", x.times(microbatches, handed))
    parts["bubble"] = x.over(others + x.times(pp - 1, handed), x.variable("vpp"))
    _add(parts, "dp", step_traffic(x, one))
    parts["optimizer"] = optimizer(x)
    _add(parts, "other", round(x.case.traits.step_overhead * NANO))
    return parts


def step_time(x: Algebra) -> tuple[Any, Any]:
    """Nanoseconds of a step, and of its bubble."""
    slots = {role: sum(slot(x, role_load(x, role)).values()) for role in ROLES}
    slowest = x.largest(*slots.values())
    parts = step_parts(x, {"work": slowest}, x.excess(all_ranks(x, slots), slowest))
    return sum(parts.values()), parts["bubble"]


def _add(parts: Parts, part: str, value: Any) -> None:
    parts[part] = parts[part] + value if part in parts else value
