"""The machine that the probe ran on -> the GPU and cluster of the standard library, or ones made of what was
measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from statistics import median
from typing import TypeVar

from ...dsl.hardware import Cluster, Gpu
from ...dsl.library import std_entries
from ...dsl.standard import std_cluster, std_gpu
from .rows import Collective, Copy, Machine, Probe, Product, Row, Stream

Kind = TypeVar("Kind", bound=Row)
MIB, GIB = 2**20, 2**30
#: How far memory that the driver reports may be from an entry's: what driver releases keep differs.
SAME_MEMORY = 0.03
#: Words of a name such as `A100-SXM4-80GB`: a100, sxm4, 80, gb.
_WORD = re.compile(r"[a-z]+\d+[a-z]?|[a-z]+|\d+")


def std_gpu_of(machine: Machine) -> str | None:
    """The entry of the same architecture, cores and memory whose name says most of what the driver's says;
    None for a GPU that the library lacks."""
    alike = [name for name in _names("gpu") if _alike(std_gpu(name), machine)]
    said = set(_WORD.findall(machine.name.lower()))
    scores = {name: _score(set(name.split("_")), said) for name in alike}
    best = max(scores, key=lambda name: scores[name], default=None)
    return best if best is not None and scores[best] >= 0 else None


def _alike(gpu: Gpu, machine: Machine) -> bool:
    memory = abs(gpu.memory / machine.memory - 1) <= SAME_MEMORY
    return memory and (gpu.arch, gpu.sms) == (machine.arch, machine.sms)


def _score(entry: set[str], said: set[str]) -> int:
    """Words of an entry's name that are said, less those that are not."""
    return len(entry & said) - len(entry - said)


def std_cluster_of(gpu: str, machine: Machine) -> str | None:
    """The first cluster of the library with as many of these GPUs in a node."""
    for name in _names("cluster"):
        cluster = std_cluster(name)
        if cluster.gpu.name == gpu and cluster.gpus_per_node == machine.per_node:
            return name
    return None


def _names(kind: str) -> list[str]:
    return [entry.name for entry in std_entries() if entry.kind == kind]


def base_of(probe: Probe) -> tuple[Cluster, str | None, str | None]:
    """The cluster that the rows are measured against, and the entries of the GPU and the cluster that it
    takes from the library, if any."""
    machine = probe.machine
    name = std_gpu_of(machine)
    gpu = std_gpu(name) if name else _unknown_gpu(machine, probe.finished)
    home = std_cluster_of(name, machine) if name else None
    cluster = std_cluster(home) if home else _unknown_cluster(gpu, machine, probe.finished)
    host = {"node_memory": machine.node_memory // GIB * GIB, "cpu_cores": machine.cpu_cores}
    update = {"gpu": gpu, "nodes": (machine.nodes,), **host}
    return cluster.model_copy(update=update), name, home


def _unknown_gpu(machine: Machine, rows: Iterable[Row]) -> Gpu:
    """Its peaks are the best that was measured; what was not measured keeps the language's default."""
    finished = list(rows)
    rates = {
        dtype: _best(
            (row for row in finished if isinstance(row, Product) and row.dtype == dtype),
            lambda row: row.flops,
        )
        for dtype in ("bf16", "fp16", "fp8")
    }
    streams = _best((row for row in finished if isinstance(row, Stream)), lambda row: row.bytes)
    copies = _best((row for row in finished if isinstance(row, Copy)), lambda row: row.bytes)
    inside = [row for row in _links(finished) if row.size * row.stride <= machine.per_node]
    links = _best(inside, _passed)
    return Gpu.model_validate(
        {
            "vendor": machine.vendor,
            "arch": machine.arch,
            "memory": machine.memory // MIB * MIB,
            "sms": machine.sms,
            "memory_bandwidth": streams or UNMEASURED,
            "nvlink": links or streams or UNMEASURED,
            **{dtype: rate for dtype, rate in rates.items() if rate},
            **({"pcie": copies} if copies else {}),
        }
    )


#: Bytes per second of what no row tells and a block must state: as little as a disk's, so that a plan shows.
UNMEASURED = 1e9


def _unknown_cluster(gpu: Gpu, machine: Machine, rows: Iterable[Row]) -> Cluster:
    outside = [row for row in _links(rows) if row.size * row.stride > machine.per_node]
    network = _best(outside, lambda row: _passed(row) / max(1, machine.per_node // row.stride))
    return Cluster(
        gpu=gpu, nodes=(1,), gpus_per_node=machine.per_node, network=network or gpu.nvlink
    )


def _links(rows: Iterable[Row]) -> list[Collective]:
    return [row for row in rows if isinstance(row, Collective)]


def _passed(row: Collective) -> float:
    """Bytes that a rank sends."""
    passes = 2 if row.op == "all_reduce" else 1
    return row.bytes if row.op == "send" else passes * row.bytes * (row.size - 1) / row.size


def _best(rows: Iterable[Kind], size: Callable[[Kind], float]) -> float:
    """The highest rate of any row, to three digits; 0 without rows."""
    rates = [size(row) / median(row.times) for row in rows if row.times]
    return float(f"{max(rates, default=0.0):.3g}")
