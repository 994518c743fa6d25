"""What published kernels of real GPUs tell when they are read as rows of the probe."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest

from benchmarks.accuracy.rows.csv_rows import Unusable
from benchmarks.accuracy.rows.gpu_names import GPUS, HOME
from benchmarks.kernels import DATA
from benchmarks.measured_kernels.rows import Kernel, kernel_of, records
from parc.calibrate.probe.levels import levels
from parc.calibrate.probe.rows import Collective, Product, Row
from parc.dsl import std_cluster, std_gpu
from parc.dsl.hardware import Cluster


@cache
def kernels() -> list[Kernel]:
    found = []
    for record in records(DATA):
        with suppress(Unusable):
            found.append(kernel_of(record))
    return found


def row(kernel: Kernel) -> Row:
    seconds = (1e-6 * kernel.microseconds,)
    if kernel.kind == "gemm":
        shape = {"rows": kernel.m, "columns": kernel.n, "inner": kernel.k, "dtype": "bf16"}
        return Product.model_validate({"kind": "product", "seconds": seconds, **shape})
    given = {"op": kernel.op, "bytes": kernel.bytes, "size": kernel.ranks, "stride": 1}
    return Collective.model_validate({"kind": "collective", "seconds": seconds, **given})


def cluster_of(gpu: str) -> Cluster:
    name = GPUS[gpu]
    return std_cluster(HOME[name]).model_copy(update={"gpu": std_gpu(name)})


@pytest.mark.parametrize("gpu", ["A100-80", "H100-SXM", "B200", "GB200"])
def test_published_collectives_tell_the_library_s_link(gpu: str) -> None:
    """The library has its links from other sources."""
    rows = [row(each) for each in kernels() if (each.kind, each.gpu) == ("collective", gpu)]
    cluster = cluster_of(gpu)
    found = levels(rows, cluster)["link_efficiency"]
    assert found.rows > 12
    assert found.value == pytest.approx(cluster.gpu.link_efficiency, rel=0.08)


def test_products_for_fractions_of_a_second_run_faster_than_training() -> None:
    """The figure for which the probe heats a GPU before it times it."""
    products = [
        row(each)
        for each in kernels()
        if (each.kind, each.gpu, each.dtype) == ("gemm", "H100-SXM", "bf16")
    ]
    found = levels(products[::8], cluster_of("H100-SXM"))["matmul_efficiency"]
    assert found.value == pytest.approx(0.83, abs=0.02)
