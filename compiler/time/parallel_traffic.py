"""Time between GPUs: seconds of tensor, context, expert, pipeline and data parallel traffic.

Rank order is tp, cp, dp (shard then replicate), pp, the order of Megatron-core's RankGenerator and of
torchtitan's mesh. Activations travel in 2 bytes. Arguments and results are columns, one number per layout:
tokens are those of a micro-batch on a rank; a group is `size` ranks, `stride` apart in the rank order.
"""

from __future__ import annotations

import numpy as np

from ..algebra import Column, by_stage
from ..case import Case
from ..traits import Bucket
from . import collectives, layers
from .kernels import overlapped
from .rank_groups import groups

#: All-gathers and reduce-scatters of a half-layer under sequence parallelism, one all-reduce without
#: (Korthikanti et al. 2022, arXiv 2205.05198, 4.2).
TP_FORWARD = 2
#: Cores that a collective occupies while it overlaps computation (DeepSeek-V3, arXiv 2412.19437, 3.2.2:
#: 20 of 132 SMs).
COMMUNICATION_CORES = 20
#: Per cent of dispatch and combine that overlaps another micro-batch's work where a framework overlaps them:
#: measured by Megatron-Bridge for Qwen3 30B on H100 (skills/nemo-mbridge-perf-moe-comm-overlap: 36.55).
OVERLAPPED_EXCHANGE = 37
#: Parameters in a gradient bucket; the last bucket is exposed (Megatron-core DDP's default, 40e6).
BUCKET_PARAMETERS = 40_000_000
#: Bytes an Adam step moves per owned parameter: reads p, m, v, g in fp32, writes p, m, v and the 16-bit copy
#: (30), after g was read for the norm, and read and written to clip it (12).
ADAM_BYTES = 42.0
#: Host memory bandwidth that a node's CPU optimizer reaches, bytes/s (eight DDR5-4800 channels, half used).
HOST_MEMORY_RATE = 150e9


def tensor(case: Case, tp: Column, tokens: Column) -> Column:
    """Exposed seconds of one half-layer's tensor-parallel collectives, forward.

    Where they travel in tp pieces, overlapped with their products, the larger of one piece and of what
    outlasts the products around attention, the smaller half, is exposed (Transformer Engine, userbuffers.md:
    ring exchange); all of it where a group leaves its domain, whose GPUs alone share these buffers.
    """
    message = 2.0 * tokens * case.model.hidden
    seconds: Column = np.where(
        case.sequence_parallel(tp),
        TP_FORWARD * collectives.ring(case.cluster, message, tp, 1),
        collectives.all_reduce(case.cluster, message, tp, 1),
    )
    if not case.traits.overlap.tensor_parallel:
        return seconds
    products = layers.projections(case, tp, tokens)
    exposed = np.maximum(seconds / np.asarray(tp), seconds - products)
    inside = groups(case.cluster, tp, 1).inside
    return np.where(inside, overlapped(case, seconds, exposed), seconds)


def tensor_backward(case: Case, tp: Column, tokens: Column, gradients: Column) -> Column:
    """Exposed seconds of one half-layer's tensor-parallel collectives, backward; `gradients` are the seconds
    of the gradients of the half-layer's first products.

    As much as forward: a third gather, of inputs along the sequence, overlaps products. Where the input's
    gather and the reduction each overlap one of the first products' gradients, what outlasts these gradients
    and the gather of the output's gradient are exposed, without sequence parallelism not the latter
    (Megatron-core, tensor_parallel/layers.py). Overlapped collectives occupy cores.
    """
    traits = case.traits
    if traits.overlap.tensor_parallel or not traits.overlap.tensor_parallel_backward:
        return tensor(case, tp, tokens)
    message = 2.0 * tokens * case.model.hidden
    once = collectives.ring(case.cluster, message, tp, 1)
    whole = collectives.all_reduce(case.cluster, message, tp, 1)
    beside = np.where(case.sequence_parallel(tp), 2.0 * once, whole)
    exposed = overlapped(case, beside, np.maximum(beside - gradients, 0.0))
    added = exposed + beside * COMMUNICATION_CORES / case.gpu.sms
    return added + np.where(case.sequence_parallel(tp), once, 0.0)


def experts(case: Case, tp: Column, tokens: Column, ep: Column, etp: Column) -> Column:
    """Seconds of one layer's dispatch and combine, forward: two all-to-alls over ep, and all-gather and
    reduce-scatter of the token copies over etp. Combine sends 2 bytes per value."""
    values, model, wire = tokens * case.model.hidden / tp, case.model, case.traits.wire
    copies_bytes = 2.0 * values * model.topk
    widths = (wire.dispatch_bytes, 2.0)
    if wire.dispatch == "tokens":
        routing = collectives.Routing(
            model.topk, model.router_groups or 1, model.router_limited_groups or 1
        )
        sent = [
            collectives.dispatched(case.cluster, width * values, routing, ep, etp)
            for width in widths
        ]
    else:
        sent = [
            collectives.all_to_all(case.cluster, width * values * model.topk, ep, etp)
            for width in widths
        ]
    return sum(sent) + 2.0 * collectives.ring(case.cluster, copies_bytes * etp, etp, 1)


def boundary(case: Case, tp: Column, tokens: Column, pp: Column, gpus: Column) -> Column:
    """Seconds to send one micro-batch's activations to the next stage: across nodes if any boundary is.

    Sequence parallelism divides them by tp; without it ranks send a share each and all-gather the rest
    (Narayanan et al. 2021, arXiv 2104.04473, 4.1).
    """
    message = 2.0 * tokens * case.model.hidden
    if case.traits.wire.whole_boundary:
        return np.where(
            pp > 1, collectives.point_to_point(case.cluster, message + 0.0 * tp, gpus), 0.0
        )
    seconds = collectives.point_to_point(case.cluster, message / tp, gpus)
    gathered = collectives.ring(case.cluster, message, tp, 1)
    seconds = seconds + np.where(case.sequence_parallel(tp), 0.0, gathered)
    return np.where(pp > 1, seconds, 0.0)


def gather_seconds(
    case: Case, zero: Column, size: Column, stride: Column, hpz: Column, offload: Column
) -> Column:
    """Seconds per parameter of one micro-batch's weight gathers; hpZ keeps the second in a node."""
    passes = by_stage(case.traits.wire.gathers, zero)
    share = _port_share(case, zero)
    width = case.traits.wire.gather_bytes
    wide = _per_parameter(case, width, size, stride, share)
    near = np.where(hpz > 1, _per_parameter(case, width, hpz, stride, share), wide)
    fetched = np.where(offload == 2, passes * 2.0 / np.maximum(size, 1) / case.gpu.pcie, 0.0)
    return np.where(passes > 1, wide + (passes - 1) * near, passes * wide) + fetched


def host_sum_seconds(case: Case, zero: Column, size: Column, offload: Column) -> Column:
    """Seconds per parameter and micro-batch to copy a rank's sum of gradients from the host and back."""
    width = by_stage(lambda stage: case.state(stage).gradients, zero)
    seconds = 2.0 * width / np.maximum(size, 1) / case.gpu.pcie
    return np.where(case.sums_on_host(zero, offload), seconds, 0.0)


def reduce_seconds(
    case: Case, zero: Column, size: Column, stride: Column, replicate: Column
) -> Column:
    """Seconds per parameter of one gradient reduction: reduce-scatter over the `size` ranks of a shard group,
    or all-reduce where gradients are whole or reduced so, and an all-reduce of the shards over replicas.
    """
    width = case.traits.wire.reduce_bytes
    scatter = _per_parameter(case, width, size, stride, _port_share(case, zero))
    whole = by_stage(lambda stage: stage == 0 or case.traits.wire.all_reduces(stage), zero)
    once = np.where(whole, _all_reduce(case, width, size, stride), scatter)
    return once + _all_reduce(case, width, replicate, stride * size) / np.maximum(size, 1)


def regather_seconds(case: Case, zero: Column, size: Column, stride: Column) -> Column:
    """Seconds per parameter of the step's all-gather of updated weights (ZeRO 1 and 2)."""
    wire = case.traits.wire
    width = by_stage(lambda stage: wire.updated_weight_bytes(case.job, stage), zero)
    return _per_parameter(case, width, size, stride, bucket=wire.gather_bucket or wire.bucket)


def optimizer_seconds(case: Case, owned_share: Column, offload: Column) -> Column:
    """Seconds per parameter of the update of the share that a rank owns, on the GPU or the host."""
    on_gpu = (ADAM_BYTES - case.traits.kernels.first_sum_bytes(case.job)) / case.memory_rate
    per_host_gpu = HOST_MEMORY_RATE / case.cluster.gpus_per_node
    on_host = ADAM_BYTES / per_host_gpu + 6.0 / case.gpu.pcie
    return owned_share * np.where(offload > 0, on_host, on_gpu)


def _per_parameter(
    case: Case,
    width_bytes: Column,
    size: Column,
    stride: Column,
    share: Column = 1.0,
    bucket: Bucket | None = None,
) -> Column:
    """Seconds per parameter of one ring pass: bandwidth, and a ring's latency per bucket."""
    size = np.maximum(size, 1)
    latency = collectives.ring_latency(case.cluster, size, stride)
    held = (bucket or case.traits.wire.bucket)(case.job, size, stride)
    return _bandwidth_seconds(case, width_bytes, size, stride, share) + latency / held


def _all_reduce(case: Case, width_bytes: float, size: Column, stride: Column) -> Column:
    """Seconds per parameter of one all-reduce, with a tree's latency per bucket."""
    size = np.maximum(size, 1)
    latency = collectives.all_reduce_latency(case.cluster, size, stride)
    bucket = case.traits.wire.bucket(case.job, size, stride)
    return width_bytes * collectives.all_reduce_rate(case.cluster, size, stride) + latency / bucket


def _bandwidth_seconds(
    case: Case, width_bytes: Column, size: Column, stride: Column, share: Column = 1.0
) -> Column:
    """Seconds per parameter of one ring pass without latency; across nodes over a share of the ports."""
    lying = groups(case.cluster, size, stride)
    rate = collectives.bus_bandwidth(case.cluster, size, stride)
    return (
        width_bytes * collectives.passed_share(lying) / (rate * np.where(lying.inside, 1.0, share))
    )


def _port_share(case: Case, zero: Column) -> Column:
    """Share of a node's network ports that a ZeRO stage's collectives reach."""
    each = case.cluster.gpus_per_node
    ports = min(case.traits.wire.wide_ports or each, each)
    return np.where(np.asarray(zero) == 3, ports / each, 1.0)
