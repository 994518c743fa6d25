"""Layouts that accelerate 1.15 does not run as FSDP2."""

from __future__ import annotations

from ....compiler.algebra import Column
from ....compiler.model import parameters
from ....compiler.target import Effect, Predicate
from ....compiler.tuning.ledger import dequantized_bytes, frozen_bytes, scale_bytes
from ....dsl.job import Job

GIB = 2**30


def shards(job: Job, dp_replicate: Column, dp_shard: Column) -> Column:
    return (dp_replicate == 1) | (dp_shard > 1)


def loaded_bytes(job: Job, dp_shard: Column) -> Column:
    """Bytes of a GPU on which 4-bit weights are divided: all that it read stays until the last is divided
    (accelerate 1.15 utils/fsdp_utils.py, fsdp2_prepare_model: original_sd), beside the parts."""
    whole = frozen_bytes(job) * parameters.total(job.model, seq_len=job.train.seq_len)
    return whole + (whole - scale_bytes(job)) / dp_shard + dequantized_bytes(job)


def loads(job: Job, dp_shard: Column) -> Column:
    gpu = job.cluster.gpu
    return (job.train.tune != "qlora") | (loaded_bytes(job, dp_shard) <= gpu.memory - gpu.reserve)


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
    Predicate(
        "PAR465",
        "four-bits-read",
        "4-bit weights that a GPU has no room to read",
        ("dp_shard",),
        loads,
        lambda job, dp_shard: (
            f"each GPU reads all weights in 4 bits before FSDP2 divides them by dp_shard {dp_shard}: "
            f"{loaded_bytes(job, dp_shard) / GIB:.1f} GiB of {job.cluster.gpu.memory / GIB:.1f} GiB"
        ),
        "accelerate 1.15 utils/fsdp_utils.py:830: no weights in 4 bits are sent from rank 0, part by part",
        cure="GPUs with more memory, or `tune = lora`: FSDP2 divides 16-bit weights as they arrive",
    ),
)
