"""A measured kernel -> the seconds that the compiler's own functions say of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import ValidationError

from benchmarks.accuracy.rows.csv_rows import Unusable
from benchmarks.measured_kernels import engines
from benchmarks.measured_kernels.rows import Kernel
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.time import collectives, kernels, layers
from parc.dsl import std_cluster, std_entries, std_gpu
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.job import Job, TargetSpec, Train
from parc.dsl.model import Model

#: GPUs of a machine at least: ranks of smaller groups have neighbours.
NODE = 8
#: Precisions of the language.
PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8")


def seconds(kernel: Kernel) -> float:
    """Raises Unusable with the reason where the language or the GPU lacks what was run."""
    if kernel.dtype not in PRECISIONS:
        raise Unusable(
            f"dtype `{kernel.dtype}` is not in the language" if kernel.dtype else "dtype not stated"
        )
    return float(PRICES[kernel.kind](kernel))


def _gemm(kernel: Kernel) -> Any:
    """Inference casts the input of an 8-bit product with the scale that the tensor at hand asks for."""
    case = _case(kernel.gpu, kernel.dtype)
    share = engines.of_kernel(engines.PRODUCT_KERNELS, kernel.kernel, case.gpu.arch, 1.0)
    block = engines.ROW_BLOCKS.get(kernel.kernel, 1)
    rows = -(-kernel.m // block) * block
    product = kernels.product(case, rows, kernel.n, kernel.k, half=False) / share
    return product if case.operand_bytes == 2 else product + _scaled(case, kernel)


def _scaled(case: Case, kernel: Kernel) -> Any:
    """Seconds of the cast of a product's input to 8 bits."""
    elements = float(kernel.m * kernel.k)
    if kernel.kernel != engines.CUTLASS:
        return engines.SCALE_SECONDS + kernels.streamed(case, engines.SCALE_BYTES * elements)
    rows = engines.ROW_SCALE_SECONDS + engines.ROW_SECONDS * kernel.m
    return rows + kernels.streamed(case, engines.ROW_SCALE_BYTES * elements)


def _attention(kernel: Kernel) -> Any:
    """Forward, of one micro-batch. Raises Unusable without a causal mask."""
    if not kernel.causal:
        raise Unusable("attention without a causal mask is not in the language")
    if kernel.heads % kernel.kv_heads:
        raise Unusable("impossible `kv_heads`")
    case = _case(
        kernel.gpu,
        kernel.dtype,
        kernel.kernel,
        seq_len=kernel.seq,
        heads=kernel.heads,
        kv_heads=kernel.kv_heads,
        head_dim=kernel.head_dim,
        hidden=kernel.heads * kernel.head_dim,
    )
    seconds = layers.attention_core(case, 1, 1, kernel.batch)
    if kernel.framework != "trtllm":
        return seconds
    rotated = kernel.heads + kernel.kv_heads  # within the same call
    elements = float(kernel.batch * kernel.seq * rotated * kernel.head_dim)
    return seconds + kernels.streamed(case, layers.ROPE_BYTES * elements)


def _collective(kernel: Kernel) -> Any:
    cluster = _cluster(kernel.gpu, max(kernel.ranks, NODE))
    sent = float(kernel.bytes)
    if kernel.op in ("all_gather", "reduce_scatter"):
        return collectives.ring(cluster, sent, kernel.ranks, 1)
    if kernel.op == "all_reduce":
        return collectives.all_reduce(cluster, sent, kernel.ranks, 1)
    if kernel.op == "all_to_all":
        return collectives.all_to_all(cluster, sent, kernel.ranks, 1)
    raise Unusable(f"unknown collective `{kernel.op}`" if kernel.op else "`op` not stated")


def _experts(kernel: Kernel) -> Any:
    """Permutation, both products of the experts of one rank and their activation function, forward; a rank
    owns tokens / (ep * tp) of the tokens."""
    if kernel.topk > kernel.experts or kernel.experts % kernel.ep or kernel.ffn % kernel.tp:
        raise Unusable("impossible shape of experts")
    arch = gpu_named(kernel.gpu).arch
    it = engines.of_kernel(engines.EXPERT_KERNELS, kernel.kernel, arch, engines.USUAL_EXPERTS)
    case = _case(
        kernel.gpu,
        kernel.dtype,
        rate=it.rate,
        bandwidth=it.bandwidth,
        gated=(kernel.hidden, kernel.ffn) not in engines.UNGATED,
        hidden=kernel.hidden,
        ffn=kernel.ffn,
        expert_ffn=kernel.ffn,
        experts=kernel.experts,
        topk=kernel.topk,
    )
    owned = kernel.tokens / (kernel.ep * kernel.tp)
    copies = float(kernel.tokens * kernel.topk)
    permuted = kernel.hidden * (
        engines.EVERY_TOKEN_BYTES * kernel.tokens
        + it.routed_bytes * copies
        + it.permuted_bytes * copies / kernel.ep
    )
    moved = permuted + layers.activated_bytes(case, copies / kernel.ep)
    products = layers.expert_products(case, kernels.matmul, 1, owned, kernel.ep, kernel.tp)
    started = engines.ROUTING_SECONDS + it.routed_seconds * copies
    return started + kernels.streamed(case, moved) + products


PRICES = {
    "gemm": _gemm,
    "attention": _attention,
    "collective": _collective,
    "experts": _experts,
}


@cache
def _case(
    gpu: str,
    dtype: str,
    attention_kernel: str = "",
    rate: float = 1.0,
    bandwidth: float = 1.0,
    gated: bool = True,
    seq_len: int = 4096,
    **dimensions: int,
) -> Case:
    """A job of one layer on one GPU, as Megatron-LM runs it but for attention by a kernel, and for shares of
    the FLOP rate and the bandwidth that training reaches."""
    shape = {"hidden": 4096, "heads": 32, "ffn": 4 * 4096, **dimensions}
    if shape["hidden"] % shape["heads"] and "head_dim" not in shape:
        shape["head_dim"] = 128
    try:
        model = Model.model_validate(
            {"name": "kernel", "layers": 1, "vocab": 1024, "gated": gated, **shape}
        )
        train = Train.model_validate(
            {"seq_len": seq_len, "global_batch": 1, "steps": 1, "precision": dtype}
        )
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        raise Unusable(f"impossible `{place[0] if place else 'shape'}`") from None
    cluster = _cluster(gpu, NODE)
    part = cluster.gpu
    attention = engines.of_kernel(
        engines.ATTENTION_KERNELS, attention_kernel, part.arch, part.attention_efficiency
    )
    reached = {
        "attention_efficiency": attention,
        "matmul_efficiency": rate * part.matmul_efficiency,
        "fp8_efficiency": rate * part.fp8_efficiency,
        "memory_efficiency": bandwidth * part.memory_efficiency,
    }
    cluster = cluster.model_copy(update={"gpu": part.model_copy(update=reached)})
    if cluster.gpu.rate(dtype) is None:
        raise Unusable(f"{cluster.gpu.name} has no {dtype} rate")
    target = BACKENDS["megatron"].target
    target = replace(target, traits=target.traits.replaced(**engines.FUSED))
    spec = TargetSpec(name="megatron", options=target.options())
    job = Job(
        name="kernel",
        path="",
        digest="",
        model=model,
        cluster=cluster,
        train=train,
        targets=(spec,),
    )
    return Case(job, target)


@cache
def _cluster(gpu: str, gpus: int) -> Cluster:
    """One fast domain of `gpus` GPUs, joined as in the standard library's cluster of them if it has one."""
    part = gpu_named(gpu)
    base = _std_clusters().get(part.name)
    plain = base or Cluster(gpu=part, nodes=(1,), gpus_per_node=gpus, network=part.nvlink)
    return plain.model_copy(
        update={"gpu": part, "nodes": (1,), "gpus_per_node": gpus, "nvlink_domain": None}
    )


@cache
def gpu_named(name: str) -> Gpu:
    """The standard library's GPU of a name, written `H100-SXM` or `h100_sxm`."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    if plain not in {entry.name for entry in std_entries() if entry.kind == "gpu"}:
        raise Unusable(f"unknown GPU `{name}`" if name else "GPU not stated")
    return std_gpu(plain).model_copy(update={"name": plain})


@cache
def _std_clusters() -> dict[str, Cluster]:
    names = [entry.name for entry in std_entries() if entry.kind == "cluster"]
    found = [std_cluster(name) for name in reversed(names)]
    return {cluster.gpu.name: cluster for cluster in found}
