"""A fine-tuning run on a GPU -> seconds of one micro-batch: forward pass, backward pass, recomputation."""

from __future__ import annotations

from ...dsl.hardware import Cluster
from ..model import flops, parameters
from .memory import activation_bytes
from .tuning_run import Run

#: Tokens of a micro-batch at which products reach half of their rate: launches and waves of few rows.
HALF_TOKENS = 300.0
#: What products of routed experts reach of that: their rows are few, and unevenly many.
EXPERT_PACE = 0.5
#: Seconds that the host takes to launch one layer's forward pass in eager PyTorch with adapters, about 80
#: kernels; twice where ZeRO-3's hooks gather each module.
HOST_SECONDS = 1.5e-3
#: Bytes that one pass moves over those that it keeps: each kernel reads and writes.
MOVED = 2.5
#: Fused attention's backward pass, over its forward pass (`time/layers.py`: FLASH_BACKWARD).
ATTENTION_BACKWARD = 3.0
#: Bytes moved per element of a quantized matrix in a pass: its store is read, 16 bits are written.
DEQUANTIZED = 2.0
#: Share of the traffic of gathered weights that computation does not overlap.
EXPOSED = 0.3


def micro_batch_seconds(run: Run, cluster: Cluster) -> float | None:
    """Seconds of a micro-batch on each rank; None where the GPU has no 16-bit rate."""
    gpu = cluster.gpu
    peak = gpu.bf16 or gpu.fp16
    if peak is None:
        return None
    layout = run.layout
    ways = layout.tp * layout.pp
    share = run.tokens / (run.tokens + HALF_TOKENS) * (EXPERT_PACE if run.model.moe else 1.0)
    rate = peak * gpu.matmul_efficiency
    if run.fp8 and gpu.fp8:
        rate = gpu.fp8 * gpu.fp8_efficiency
    rate *= gpu.capped * share
    linear, core = forward_flops(run)
    again = 1 if run.checkpointing else 0
    weights = 1 if run.tune == "full" else 0
    passes = 2 + weights + again
    adapters = 0.0 if run.tune == "full" else 6.0 * run.weights.trained_parameters * run.tokens
    products = (linear * passes + adapters) / ways / rate
    attention_rate = peak * gpu.capped * gpu.attention_efficiency
    attention = core * (1 + again + ATTENTION_BACKWARD) / ways / attention_rate
    moved = MOVED * (2 + again) * activation_bytes(run) * run.model.layers / layout.pp
    if run.quantized != "none":
        store = run.weights.quantized_bytes + DEQUANTIZED * run.weights.quantized_parameters
        moved += (2 + again) * store / ways
    streams = moved / (gpu.memory_bandwidth * gpu.memory_efficiency)
    host = HOST_SECONDS * (2 + again) * run.model.layers / layout.pp
    if run.fused_kernels:
        host /= 2
    if layout.sharding == "zero3":
        host *= 2
    busy = max(products + attention + streams, host)
    return busy + max(0.0, wire_seconds(run, cluster, passes) - (1 - EXPOSED) * busy)


def forward_flops(run: Run) -> tuple[float, float]:
    """FLOP of a micro-batch's forward pass in matrices, and in the core of attention."""
    per_token = flops.forward(run.model, run.seq_len)
    core = per_token.attention_core * run.tokens
    return per_token.total * run.tokens - core, core


def wire_seconds(run: Run, cluster: Cluster, passes: int) -> float:
    """Seconds of the gathers of divided weights, and of the reduction of gradients."""
    layout = run.layout
    if layout.sharded == 1:
        return 0.0
    share = (layout.sharded - 1) / layout.sharded
    sheet = run.weights
    stored = sheet.quantized_bytes + 2.0 * (
        parameters.total(run.model) - sheet.quantized_parameters
    )
    gathers = (2 if layout.divides_weights else 0) * stored
    reduced = 2.0 * sheet.trained_parameters
    inside = layout.sharded <= cluster.domain
    rate = (
        cluster.gpu.nvlink * cluster.gpu.link_efficiency
        if inside
        else cluster.network * cluster.network_efficiency
    )
    return share * (gathers + reduced) / layout.tp / rate
