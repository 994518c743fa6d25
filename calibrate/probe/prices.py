"""A row of the probe -> the seconds that the compiler's own functions say of its case on a cluster."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from ...backends import BACKENDS
from ...compiler.case import Case
from ...compiler.target import Target
from ...compiler.time import attention_kernels, collectives, kernels, layers
from ...dsl.hardware import Cluster
from ...dsl.job import Job, TargetSpec, Train
from ...dsl.model import Model
from .. import site
from .rows import Attention, Collective, Copy, Launch, Product, Row, Stream, Training
from .small_models import run_of

#: Seconds that an operation of next to no size takes from Python to its kernel where `host_time` is 1: 1.8 us
#: on a CPU on which torchtitan's layer takes 0.655 ms without launches (tests/acceptance/probes/
#: host_probe.py), where 2.28 ms with them are priced (backends/host.py), of which 115 launches take 3.8 us
#: each [graphs].
OPERATION = 8.8e-6


def predicted_seconds(row: Row, cluster: Cluster) -> float:
    """Seconds of a row's case on the GPUs of `cluster`."""
    return float(_price(row, cluster))


def _price(row: Row, cluster: Cluster) -> Any:
    match row:
        case Product():
            shape = (row.rows, row.columns, row.inner)
            return kernels.product(_case(cluster, row.dtype), *shape, half=False)
        case Attention():
            return _attention(row, cluster)
        case Collective():
            return _collective(row, cluster)
        case Stream():
            rate = cluster.gpu.memory_bandwidth * cluster.gpu.memory_efficiency
            return row.bytes / rate
        case Copy():
            return row.bytes / cluster.gpu.pcie
        case Launch():
            return OPERATION * cluster.host_time
        case Training():
            return site.predicted_seconds(run_of(row, cluster), cluster)


def _attention(row: Attention, cluster: Cluster) -> Any:
    kernel, arch = kernel_of(row), cluster.gpu.arch
    known = kernel in attention_kernels.PACE and attention_kernels.runs_on(kernel, arch)
    shape = (row.seq_len, row.heads, row.head_dim)
    case = _case(cluster, _half(cluster), kernel if known else None, *shape)
    passes = {"forward": layers.attention_core, "backward": layers.attention_core_backward}
    timed = passes if row.direction == "both" else (row.direction,)
    return sum(passes[each](case, 1, 1, row.batch) for each in timed)


def kernel_of(row: Attention) -> str:
    """The kernel's name in `attention_kernels.PACE`."""
    return row.kernel.rpartition(":")[2]


def _collective(row: Collective, cluster: Cluster) -> Any:
    sent, group = float(row.bytes), (row.size, row.stride)
    if row.op == "send":
        return collectives.point_to_point(cluster, sent, row.size * row.stride)
    if row.op == "all_reduce":
        return collectives.all_reduce(cluster, sent, *group)
    if row.op == "all_to_all":
        return collectives.all_to_all(cluster, sent, *group)
    return collectives.ring(cluster, sent, *group)


def _half(cluster: Cluster) -> str:
    return "bf16" if cluster.gpu.bf16 else "fp16"


def _case(
    cluster: Cluster,
    precision: str,
    attention_kernel: str | None = None,
    seq_len: int = 128,
    heads: int = 1,
    head_dim: int = 128,
) -> Case:
    job = _job(precision, seq_len, heads, head_dim).model_copy(update={"cluster": cluster})
    return Case(job, _target(attention_kernel))


@cache
def _job(precision: str, seq_len: int, heads: int, head_dim: int) -> Job:
    """A job of one layer; its cluster is put in later."""
    shape = {"hidden": heads * head_dim, "heads": heads, "head_dim": head_dim, "ffn": 128}
    given = {"name": "probe", "layers": 1, "vocab": 128, **shape}
    train = {"seq_len": seq_len, "global_batch": 1, "steps": 1, "precision": precision}
    spec = TargetSpec(name=_plain().name, options=_plain().options())
    return Job.model_construct(
        name="probe",
        path="",
        digest="",
        model=Model.model_validate(given),
        train=Train.model_validate(train),
        targets=(spec,),
    )


def _plain() -> Target:
    """Any target: what frameworks differ in is taken out."""
    return next(iter(BACKENDS.values())).target


@cache
def _target(attention_kernel: str | None) -> Target:
    traits = _plain().traits.replaced(attention_kernel=attention_kernel, fp8_pace=1.0)
    return replace(_plain(), traits=traits, stack=lambda job: {})
