"""Rules that follow from the parallelisms themselves: experts' ranks, full rounds of a pipeline, whole
batches of a ramp, and one way to write plain data parallelism."""

from __future__ import annotations

from ...dsl.job import Job
from ..algebra import Column
from ..target import Effect, Predicate


def expert_grid(source: str) -> Predicate:
    return Predicate(
        "PAR102",
        "expert-world",
        "the experts' degrees do not divide the GPUs of a stage",
        ("pp", "ep", "etp", "gpus"),
        lambda job, pp, ep, etp, gpus: (not job.model.moe) | (gpus % (etp * ep * pp) == 0),
        lambda job, pp, ep, etp, gpus: (
            f"etp {etp} * ep {ep} * pp {pp} = {etp * ep * pp} does not divide {gpus} GPUs"
        ),
        source,
    )


def whole_experts(stricter: str) -> Predicate:
    return Predicate(
        "PAR118",
        "etp-one-or-tp",
        "etp is neither 1 nor tp, or not the one of them that the target takes",
        ("tp", "etp"),
        lambda job, tp, etp: (etp == 1) | (etp == tp),
        lambda job, tp, etp: f"etp {etp} is neither 1 nor tp {tp}, the two that parc plans",
        "parc: an expert is whole on its GPU or divided like the dense layers",
        stricter=stricter,
        effect=Effect.ACCEPTS,
    )


def interleaving_fed(job: Job, pp: Column, vpp: Column, microbatches: Column) -> Column:
    """The smallest batch of a ramp has one part of the full one's micro-batches, and others multiples."""
    least = microbatches // len(job.train.ramp)
    return (vpp == 1) | ((least >= pp) & (least % pp == 0))


def full_rounds(source: str) -> Predicate:
    return Predicate(
        "PAR203",
        "vpp-microbatches",
        "interleaving has too few or uneven micro-batches",
        ("pp", "vpp", "microbatches"),
        interleaving_fed,
        lambda job, pp, vpp, microbatches: (
            f"interleaving (vpp {vpp}) needs micro-batches in multiples of pp {pp}, "
            f"not {microbatches // len(job.train.ramp)}"
        ),
        source,
    )


def whole_ramp(source: str) -> Predicate:
    """All batches of a ramp are multiples of the first, which is one part of the full one."""
    return Predicate(
        "PAR208",
        "ramp-batch",
        "the first batch of a ramp does not divide over micro-batches and replicas",
        ("microbatches",),
        lambda job, microbatches: microbatches % len(job.train.ramp) == 0,
        lambda job, microbatches: (
            f"ramp_from {job.train.ramp_from} does not divide over micro-batches and replicas: the "
            f"{microbatches} micro-batches of the full batch are not a multiple of {len(job.train.ramp)}"
        ),
        source,
    )


#: Without ZeRO nothing is divided.
ONE_REPLICATION = Predicate(
    "PAR306",
    "zero-shard",
    "dp_shard above 1 with zero 0",
    ("zero", "dp_shard"),
    lambda job, zero, dp_shard: (zero > 0) | (dp_shard == 1),
    lambda job, zero, dp_shard: f"zero 0 divides nothing, so dp_shard must be 1, not {dp_shard}",
    "parc: plain data parallelism is written as dp_replicate",
    stricter="one way to write plain data parallelism",
    effect=Effect.ACCEPTS,
)
