"""Time of one step: terms in nanoseconds of the critical path, and their sum.

A step is `microbatches` slots of the slowest rank, the pipeline's bubble, exposed gradient and weight
traffic, the optimizer, fixed overhead, and a share of these for stragglers. The first micro-batch passes
every rank before the slowest one sets the pace, so the bubble is one slot of each other rank, or the vpp-th
part of it interleaved; with equal ranks the (pp - 1) / vpp slots of Narayanan et al. 2021, arXiv 2104.04473,
2.2. Terms are of one micro-batch; they take and return columns, one number per layout.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..algebra import NANO, Algebra, Column, Term, Value, added, term, whole
from ..case import Case
from ..pipeline.rank_load import Load, all_ranks, kinds, one_stage, role_load
from ..pipeline.schedule import bubble_of, bubble_slots, least_bubble_slots
from ..variables import RECOMPUTATIONS
from . import context_exchange, layers
from . import parallel_traffic as traffic
from .gradient_sync import (
    copy_time,
    fullest_role,
    gathered_traffic,
    optimizer,
    overlap_cost,
    reduced_traffic,
    step_traffic,
)
from .recomputation import (
    repeated_attention,
    repeated_dense,
    repeated_moe,
    repeats_moe,
    whole_moe,
)

#: Half-layers whose gaps between kernels the experts have: router, permutation and grouped products.
EXPERT_HALVES = 2

#: Mean of the delays that a GPU has in a step by chance, as a share of the step; the largest of N exponential
#: delays has ln N times it. Measured steps of 49 series of runs that differ only in the number of GPUs, 8 to
#: 2,304, grow by 2.7 % in the median more than priced ones, by 1.3 % with it; these alone ask for 0.0098,
#: whole runs, fitted with the efficiencies, for this (benchmarks/data/measured_public.csv).
STRAGGLING = 0.006
#: Denominator of the stragglers' share of a step, kept as an integer, and the nanoseconds of a step that it
#: counts as one, so that the product of the longest step stays below LIMIT.
STRAGGLER_PARTS, COARSE = 2**14, 2**8

# --- one layer and one micro-batch ---


@term("ns", of=("tp", "cp", "micro_batch"))
def attention_forward(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Nanoseconds of the attention half of one layer, forward."""
    return NANO * layers.attention(case, tp, cp, micro_batch)


@term("ns", of=("tp", "cp", "micro_batch"))
def attention_backward(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Nanoseconds of the attention half of one layer, backward."""
    return NANO * layers.attention_backward(case, tp, cp, micro_batch)


@term("ns", of=("tp", "tokens"))
def dense_forward(case: Case, tp: Column, tokens: Column) -> Column:
    """Nanoseconds of the dense feed-forward half of one layer, forward."""
    return NANO * layers.dense_ffn(case, tp, tokens)


@term("ns", of=("tp", "tokens"))
def dense_backward(case: Case, tp: Column, tokens: Column) -> Column:
    """Nanoseconds of the dense feed-forward half of one layer, backward."""
    return NANO * layers.dense_ffn_backward(case, tp, tokens)


@term("ns", of=("tp", "tokens", "ep", "etp"))
def moe_forward(case: Case, tp: Column, tokens: Column, ep: Column, etp: Column) -> Column:
    """Nanoseconds of the MoE half of one layer, forward."""
    return NANO * layers.moe_ffn(case, tp, tokens, ep, etp)


@term("ns", of=("tp", "tokens", "ep", "etp"))
def moe_backward(case: Case, tp: Column, tokens: Column, ep: Column, etp: Column) -> Column:
    """Nanoseconds of the MoE half of one layer, backward."""
    return NANO * layers.moe_ffn_backward(case, tp, tokens, ep, etp)


@term("ns", of=("tp", "tokens"))
def tensor_forward(case: Case, tp: Column, tokens: Column) -> Column:
    """Exposed nanoseconds of tensor-parallel collectives of one half-layer, forward."""
    return NANO * traffic.tensor(case, tp, tokens)


@term("ns", of=("tp", "tokens"))
def tensor_backward_attention(case: Case, tp: Column, tokens: Column) -> Column:
    """Exposed nanoseconds of tensor-parallel collectives of the attention half, backward."""
    gradients = layers.query_gradients(case, tp, tokens)
    return NANO * traffic.tensor_backward(case, tp, tokens, gradients)


@term("ns", of=("tp", "tokens"))
def tensor_backward_dense(case: Case, tp: Column, tokens: Column) -> Column:
    """Exposed nanoseconds of tensor-parallel collectives of the dense feed-forward half, backward."""
    gradients = layers.dense_input_gradients(case, tp, tokens)
    return NANO * traffic.tensor_backward(case, tp, tokens, gradients)


@term("ns", of=("tp", "cp", "micro_batch"))
def context_forward(case: Case, tp: Column, cp: Column, micro_batch: Column) -> Column:
    """Exposed nanoseconds of one layer's context-parallel exchange, forward."""
    return NANO * context_exchange.seconds(case, tp, cp, micro_batch)


@term("ns", of=("tp", "tokens", "ep", "etp"))
def expert_forward(case: Case, tp: Column, tokens: Column, ep: Column, etp: Column) -> Column:
    """Nanoseconds of one layer's expert dispatch and combine, forward."""
    return NANO * traffic.experts(case, tp, tokens, ep, etp)


@term("ns", of=("tp", "tokens"))
def head_forward_backward(case: Case, tp: Column, tokens: Column) -> Column:
    """Nanoseconds of head, loss and the projections of MTP blocks, forward and backward."""
    return NANO * (layers.head(case, tp, tokens) + layers.mtp_block(case, tp, tokens))


@term("ns", of=("tp", "tokens"))
def embedding_forward_backward(case: Case, tp: Column, tokens: Column) -> Column:
    """Nanoseconds of the embedding's lookup and the scatter of its gradient."""
    return NANO * layers.embedding(case, tp, tokens)


@term("ns", of=("tp", "tokens", "pp", "gpus"))
def boundary_transfer(case: Case, tp: Column, tokens: Column, pp: Column, gpus: Column) -> Column:
    """Nanoseconds of both transfers at a stage boundary: activations forward, gradients backward."""
    return 2 * NANO * traffic.boundary(case, tp, tokens, pp, gpus)


@term("ns", of=("pp", "vpp", "gpus"))
def boundary_latency(case: Case, pp: Column, vpp: Column, gpus: Column) -> Column:
    """Nanoseconds of a micro-batch's latency where interleaved: two messages per virtual stage."""
    return np.where(vpp > 1, 2 * NANO * vpp * traffic.boundary(case, 1, 0, pp, gpus), 0.0)


@term("1", of=("vpp",))
def boundary_exposed(case: Case, vpp: Column) -> Column:
    """1 where transfers between stages are exposed (1F1B without interleaving), else 0."""
    return np.equal(vpp, 1)


@term("1/16,384", of=("gpus",))
def straggler_share(case: Case, gpus: Column) -> Column:
    """The time that the slowest of all GPUs adds to a step, in STRAGGLER_PARTS-ths of it: the expected
    maximum of `gpus` exponential delays grows with their logarithm (extreme-value theory)."""
    return STRAGGLER_PARTS * STRAGGLING * np.log(gpus)


# --- totals ---

Parts = dict[str, Value]


def layer_forward(x: Algebra[Value], kind: str) -> Parts[Value]:
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


def layer_forward_backward(x: Algebra[Value], kind: str) -> Parts[Value]:
    """Forward and backward nanoseconds of one block by part, selective and fine recompute included."""
    forward = layer_forward(x, kind)
    backward = x.term(attention_backward) + x.term(
        dense_backward if kind == "dense" else moe_backward
    )
    parts = {part: 2 * value for part, value in forward.items()}
    parts["compute"] = forward["compute"] + backward
    parts["tp"] = forward["tp"] + x.term(tensor_backward_attention)
    if kind == "dense":
        parts["tp"] = parts["tp"] + x.term(tensor_backward_dense)
    if kind == "moe" and x.case.traits.overlap.expert_exchange:
        overlapped = x.over(x.times(parts["ep"], traffic.OVERLAPPED_EXCHANGE), 100)
        exposed = x.over(x.times(parts["ep"], 100 - traffic.OVERLAPPED_EXCHANGE), 100)
        parts["ep"] = exposed + overlap_cost(x, overlapped, parts["compute"])
    parts["cp"] = 3 * forward["cp"]
    parts["recompute"] = x.term(repeated_attention)
    if kind == "dense":
        parts["recompute"] = parts["recompute"] + x.term(repeated_dense)
    elif x.case.traits.memory.discarded:
        parts["recompute"] = parts["recompute"] + x.term(repeated_moe)
    if kind == "moe" and repeats_moe(x.case):
        half = x.term(moe_forward) + x.term(expert_forward)
        parts["recompute"] = parts["recompute"] + x.times(x.term(whole_moe), half)
    return parts


def rank_work(x: Algebra[Value], load: Load[Value]) -> Parts[Value]:
    """Nanoseconds of one micro-batch on a rank by part, before weight gathering."""
    parts: Parts[Value] = {}
    traits = x.case.traits
    for kind, both in blocks(x, load):
        for part, value in layer_forward_backward(x, kind).items():
            _add(parts, part, x.times(both, value))
    busy = parts["compute"] + parts["recompute"]
    for kind in kinds(x.case):
        forward = layer_forward(x, kind)
        repeated = {part: x.times(load.recomputed[kind], value) for part, value in forward.items()}
        busy = busy + repeated["compute"]
        _add(parts, "recompute", added(x, repeated.values()))
    host = traits.host
    slower = x.case.cluster.host_time
    gap, half, experts = (
        slower * seconds
        for seconds in (host.gap_seconds, host.host_seconds, host.expert_host_seconds)
    )
    gaps = launch_time(x, load, _per_layer(gap, EXPERT_HALVES * gap))
    launched = launch_time(x, load, _per_layer(half, experts))
    if any(host.layer_share(x.case.job, mode) != 1.0 for mode in RECOMPUTATIONS):
        launched = x.over(x.times(x.term(layer_percent), launched), 100)
    if host.graphed is not None:
        gaps, launched = (x.times(x.term(launches), time) for time in (gaps, launched))
    _add(parts, "host", gaps)
    _add(parts, "host", launched if host.blocking else x.excess(launched, busy + gaps))
    if load.first:
        _add(parts, "compute", x.term(embedding_forward_backward))
    elif load.last:
        _add(parts, "compute", x.times(x.term(one_stage), x.term(embedding_forward_backward)))
    if load.last:
        _add(parts, "compute", x.term(head_forward_backward))
    _add(parts, "compute", copy_time(x, load))
    _add(parts, "other", x.variable("vpp") * round(host.micro_batch_overhead * NANO))
    return parts


@term("1", of=("pp", "ep"))
def launches(case: Case, pp: Column, ep: Column) -> Column:
    """1 where the host starts every kernel, 0 where forward and backward pass are one CUDA graph."""
    graphed = case.traits.host.graphed
    return np.where(False if graphed is None else graphed(pp, ep), 0, 1)


@term("1", of=("recompute",))
def layer_percent(case: Case, recompute: Column) -> Column:
    """The host's work for a layer as a percentage of what a layer takes that repeats nothing."""
    share = case.traits.host.layer_share
    percent = [round(100 * share(case.job, mode)) for mode in RECOMPUTATIONS]
    return np.asarray(np.asarray(percent)[np.asarray(recompute)])


def blocks(x: Algebra[Value], load: Load[Value]) -> list[tuple[str, Value]]:
    """Kinds of blocks and how many of each determine a rank's time, those of MTP included."""
    found = [(kind, load.held[kind]) for kind in kinds(x.case)]
    if load.last and x.case.model.mtp_layers:
        found.append((kinds(x.case)[-1], x.number(x.case.model.mtp_layers)))
    return found


def _per_layer(half: float, experts: float) -> dict[str, int]:
    """Nanoseconds of a block's forward pass by kind, from seconds of a half-layer and MoE half."""
    dense = whole(half * NANO)
    return {"dense": 2 * dense, "moe": dense + whole(experts * NANO)}


def launch_time(x: Algebra[Value], load: Load[Value], forward: Mapping[str, int]) -> Value:
    """Nanoseconds of a micro-batch's gaps or launches on a rank when the forward pass of a block takes
    `forward`: as much again for each recomputed block, and for a repeated MoE half what it takes; twice as
    much for the backward pass."""
    time = x.number(0)
    for kind, count in blocks(x, load):
        time = time + 3 * x.times(count, forward[kind])
        if kind == "moe" and repeats_moe(x.case):
            again = x.times(x.term(whole_moe), forward["moe"] - forward["dense"] // 2)
            time = time + x.times(count, again)
    for kind in kinds(x.case):
        time = time + x.times(load.recomputed[kind], forward[kind])
    return time


def slot(x: Algebra[Value], load: Load[Value]) -> Parts[Value]:
    """Nanoseconds that one micro-batch occupies a rank, by part: work and exposed traffic."""
    parts, traits = rank_work(x, load), x.case.traits
    overlapped: list[Value] = []
    exposed: list[Value] = []
    if any(map(traits.wire.gathers, range(4))):
        side = overlapped if traits.overlap.weight_gather else exposed
        side.append(gathered_traffic(x, load))
    if any(map(traits.wire.reduces_each, range(4))):
        side = overlapped if traits.overlap.micro_batch_reduction else exposed
        side.append(reduced_traffic(x, load))
    if overlapped or exposed:
        work = added(x, parts.values())
        if traits.overlap.gather_quarters < 4:
            work = x.over(work * traits.overlap.gather_quarters, 4)
        parts["dp"] = overlap_cost(x, added(x, overlapped), work) + added(x, exposed)
    return parts


def boundary(x: Algebra[Value]) -> Value:
    """Exposed nanoseconds per micro-batch of stage transfers: latency alone where interleaved."""
    if "pp" not in x.case.domains:
        return x.number(0)
    return x.times(x.term(boundary_exposed), x.term(boundary_transfer)) + x.term(boundary_latency)


def step_parts(
    x: Algebra[Value],
    work: Parts[Value],
    others: Value,
    held: Mapping[str, Value],
    share: Term = bubble_slots,
) -> Parts[Value]:
    """Nanoseconds of a step by part, when one micro-batch takes `work` on the slowest rank and `others` on
    all other ranks together, with `held` as `gradient_sync.py:fullest` has it, and `share` of the others'
    time in the bubble."""
    microbatches, pp = x.variable("microbatches"), x.variable("pp")
    transfer = boundary(x)
    one = added(x, work.values())
    parts = {part: value + x.times(microbatches - 1, value) for part, value in work.items()}
    _add(parts, "pp", x.times(microbatches, transfer))
    parts["bubble"] = bubble(x, one, others + x.times(pp - 1, transfer), share)
    _add(parts, "dp", step_traffic(x, one, held))
    parts["optimizer"] = optimizer(x, held)
    _add(parts, "other", x.number(round(x.case.traits.host.step_overhead * NANO)))
    delayed = x.times(x.over(added(x, parts.values()), COARSE), x.term(straggler_share))
    parts["stragglers"] = x.over(delayed, STRAGGLER_PARTS // COARSE)
    return parts


def bubble(x: Algebra[Value], one: Value, others: Value, share: Term) -> Value:
    """Nanoseconds of the bubble: the vpp-th part of `others`, in a step that contains the slot `one` of the
    slowest rank; as much of it as the order of passes waits for."""
    return x.over_beside(bubble_of(x, others, share), x.variable("vpp"), one)


def rank_times(x: Algebra[Value]) -> tuple[Value, Value]:
    """Nanoseconds of a micro-batch on the slowest rank, and on all ranks together."""
    slots = {role: added(x, slot(x, role_load(x, role)).values()) for role in x.case.roles}
    return x.largest(*slots.values()), all_ranks(x, slots)


def step_time(x: Algebra[Value], times: tuple[Value, Value] | None = None) -> tuple[Value, Value]:
    """Nanoseconds of a step, and of its bubble: with `times` the least that they may be, where these bound
    what `rank_times` gives."""
    slowest, every = times or rank_times(x)
    share = least_bubble_slots if times else bubble_slots
    others = x.excess_beside(every, slowest)
    parts = step_parts(x, {"work": slowest}, others, fullest_role(x), share)
    return added(x, parts.values()), parts["bubble"]


def _add(parts: Parts[Value], part: str, value: Value) -> None:
    parts[part] = parts[part] + value if part in parts else value
