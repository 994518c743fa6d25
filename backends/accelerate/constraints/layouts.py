"""Layouts that accelerate 1.15 does not run as FSDP2."""

from __future__ import annotations

from ....compiler.algebra import Column
from ....compiler.target import Effect, Predicate
from ....dsl.job import Job


def shards(job: Job, dp_replicate: Column, dp_shard: Column) -> Column:
    return (dp_replicate == 1) | (dp_shard > 1)


PREDICATES = (
    Predicate(
        "PAR492",
        "one-shard",
        "replicas of one shard each",
        ("dp_replicate", "dp_shard"),
        shards,
        lambda job, dp_replicate, dp_shard: (
            f"dp_replicate {dp_replicate} with dp_shard {dp_shard}: FSDP2's replicas are each divided"
        ),
        "accelerate 1.15 parallelism_config.py, _validate_accelerator: replicas alone are DDP's",
        stricter="accelerate starts DistributedDataParallel then, which keeps other bytes than are priced",
        effect=Effect.ACCEPTS,
    ),
)
