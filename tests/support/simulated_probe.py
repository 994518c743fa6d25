"""Rows of a probe that never ran: the compiler's own prices on a cluster of known numbers, with noise."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from parc.calibrate.probe.outliers import group_members
from parc.calibrate.probe.prices import predicted_seconds
from parc.calibrate.probe.program.cases import cases
from parc.calibrate.probe.program.machine import FORMAT
from parc.calibrate.probe.rows import Row
from parc.dsl import std_cluster
from parc.dsl.hardware import Cluster

#: What loops of the simulated cluster reach; the library says far otherwise of a DGX H100.
TRUE: Mapping[str, float] = {
    "matmul_efficiency": 0.45,
    "fp8_efficiency": 0.37,
    "attention_efficiency": 0.58,
    "memory_efficiency": 0.55,
    "host_time": 4.2,
    "pcie": 51e9,
    "link_efficiency": 0.5,
    "network_efficiency": 0.52,
}
KERNELS = ("torch:cudnn", "torch:fa2")
#: Standard deviation of the logarithm of a rank's time from one case to the next.
NOISE = 0.02
_ROW: TypeAdapter[Row] = TypeAdapter(Row)

Case = dict[str, Any]
#: Case and rank -> factor on its time.
Slower = Callable[[Case, int], float]


def dgx(**numbers: float) -> Cluster:
    """A DGX H100 with other numbers than the library's."""
    base = std_cluster("dgx_h100")
    of_gpu = {name: value for name, value in numbers.items() if name in type(base.gpu).model_fields}
    gpu = base.gpu.model_copy(update=of_gpu)
    rest = {name: value for name, value in numbers.items() if name not in of_gpu}
    return base.model_copy(update={"gpu": gpu, **rest})


def machine(cluster: Cluster, nodes: int, **changed: object) -> Case:
    ranks = nodes * cluster.gpus_per_node
    return {
        "kind": "machine",
        "format": FORMAT,
        "device": "cuda",
        "name": "NVIDIA H100 80GB HBM3",
        "vendor": "nvidia",
        "arch": cluster.gpu.arch,
        "sms": cluster.gpu.sms,
        "memory": cluster.gpu.memory,
        "node_memory": 2**41,
        "cpu_cores": 112,
        "ranks": ranks,
        "per_node": cluster.gpus_per_node,
        "torch": "2.13.0",
        "cuda": "13.0",
        "hosts": [f"n{rank // cluster.gpus_per_node + 1}" for rank in range(ranks)],
        "cases": len(planned(ranks, cluster.gpus_per_node)),
        **changed,
    }


def planned(ranks: int, per_node: int) -> list[Case]:
    """What the probe would time on such a cluster, but for whole steps: TRUE is what loops reach."""
    made = cases("cuda", ("bf16", "fp8"), KERNELS, ranks, per_node)
    return [case for case in made if case["kind"] != "training"]


def rows(cluster: Cluster, nodes: int, slower: Slower = lambda case, rank: 1.0) -> list[Case]:
    """A row for each case; `slower` makes ranks slow."""
    noise, ranks = random.Random(1), nodes * cluster.gpus_per_node
    found = []
    for case in planned(ranks, cluster.gpus_per_node):
        price = predicted_seconds(_ROW.validate_python(case), cluster)
        taking = _taking_part(case, ranks)
        seconds = [
            price * slower(case, rank) * noise.lognormvariate(0, NOISE) if rank in taking else None
            for rank in range(ranks)
        ]
        found.append({**case, "seconds": seconds, "spread": NOISE})
    return found


def _taking_part(case: Case, ranks: int) -> set[int]:
    if case["kind"] != "collective":
        return set(range(ranks))
    return {rank for group in group_members(ranks, case["size"], case["stride"]) for rank in group}


def write(path: Path, lines: Iterable[Case]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def record(path: Path, nodes: int = 2, slower: Slower = lambda case, rank: 1.0) -> None:
    """The rows of a whole probe of `nodes` DGX H100 whose numbers are TRUE."""
    cluster = dgx(**TRUE)
    write(path, [machine(cluster, nodes), *rows(cluster, nodes, slower)])
