"""data/memory_torchtitan.csv -> predicted over measured peak bytes, layout by layout."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.setups.setup import Asked, case_of
from parc.compiler.plan import Estimate
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.variables import NEUTRAL, ORDER
from parc.dsl import std_cluster, std_model
from parc.dsl.job import Train

DATA = Path(__file__).parents[2] / "data" / "memory_torchtitan.csv"
MODELS = {"8B": "llama3_8b", "70B": "llama3_70b"}
RECOMPUTE = {"none": 0, "selective": 1, "full": 2}
#: FSDP2's stage when it frees gathered weights after the forward pass, and when it does not.
RESHARD = {"default": 3, "never": 2}


def rows(path: Path = DATA) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def estimate(row: dict[str, str]) -> Estimate:
    """The layout of a row as parc prices it, on nodes of eight H100."""
    hsdp, fsdp, tp = (int(row[name]) for name in ("hsdp", "fsdp", "tp"))
    gpus, micro_batch = hsdp * fsdp * tp, int(row["micro_batch"])
    base = std_cluster("dgx_h100")
    cluster = base.model_copy(update={"nodes": (gpus // base.gpus_per_node,)})
    batch = hsdp * fsdp * micro_batch * int(row["microbatches"])
    train = Train(seq_len=int(row["seq"]), global_batch=batch, steps=1)
    case = case_of(Asked(std_model(MODELS[row["flavor"]]), cluster, train, "torchtitan", ()))
    layout = {
        **NEUTRAL,
        "nodes": cluster.nodes[0],
        "tp": tp,
        "dp_shard": fsdp,
        "micro_batch": micro_batch,
        "zero": RESHARD[row["reshard"]],
        "recompute": RECOMPUTE[row["recompute"]],
    }
    return estimate_layout(case, {name: layout[name] for name in ORDER})


def errors(path: Path = DATA) -> Iterator[tuple[dict[str, str], float]]:
    """Rows with predicted over measured bytes, minus 1. The measurement has tensors alone: no CUDA
    context, no NCCL and no gaps between blocks."""
    for row in rows(path):
        priced = estimate(row)
        outside = std_cluster("dgx_h100").gpu.reserve + priced.fullest.memory["fragments"]
        yield row, (priced.memory_bytes - outside) / int(row["peak_bytes"]) - 1


def score(path: Path = DATA) -> dict[str, Any]:
    """Number of layouts, signed median, median and largest |error|."""
    signed = np.array([error for _, error in errors(path)])
    size = np.abs(signed)
    return {
        "n": len(signed),
        "bias": float(np.median(signed)),
        "median_ape": float(np.median(size)),
        "max_ape": float(size.max()),
    }
