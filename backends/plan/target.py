"""Layouts without a framework: what the parallelisms themselves demand and cost, on any accelerator.

Weights and gradients are kept as most frameworks keep them in mixed precision, and work overlaps where they
all overlap it; nobody measured a run of it.
"""

from collections.abc import Mapping, Sequence

from ...compiler.model import parameters
from ...compiler.rules.candidate_degrees import (
    gpu_divisors,
    micro_batches,
    pipeline_degrees,
    replica_degrees,
    virtual_stages,
)
from ...compiler.target import Target
from ...compiler.traits import KernelTraits, MemoryTraits, StateBytes, Traits, WireTraits
from ...dsl.job import Job
from ...dsl.settings import Frozen
from .. import refusals
from ..host import HOST
from .layouts import PREDICATES


class Options(Frozen):
    """The settings of `target plan {}`: none, for there are no files."""


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    """Candidate values; what they may not combine is in the predicates."""
    model, degrees = job.model, gpu_divisors(job)
    tp = tuple(way for way in degrees if model.heads % way == 0)
    pp = pipeline_degrees(job)
    return {
        "tp": tp,
        "pp": pp,
        "vpp": virtual_stages(job, pp),
        "cp": degrees,
        "ep": tuple(way for way in degrees if model.experts % way == 0) if model.moe else (1,),
        "etp": tp if model.moe else (1,),
        "dp_replicate": replica_degrees(job),
        "dp_shard": replica_degrees(job),
        "zero": (0, 1, 2, 3),
        "micro_batch": micro_batches(job),
        "recompute": (0, 1, 2),
    }


#: Bytes per parameter of fp32 main weights and of what each optimizer keeps: two moments, two of 8 bits, or
#: one.
OPTIMIZER_BYTES = {"adam": 12.0, "adam8bit": 6.0, "sgd": 8.0, "muon": 8.0}


def state(job: Job, zero: int) -> StateBytes:
    """Weights in 16 bits; gradients, main weights and moments in fp32 (arXiv 1910.02054, section 3, whose
    gradients have 16 bits)."""
    return StateBytes(
        weights=2.0,
        gradients=4.0,
        optimizer=OPTIMIZER_BYTES[job.train.optimizer],
        weights_sharded=zero >= 3,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
    )


TRAITS = Traits(
    memory=MemoryTraits(
        state=state,
        selective="core_attention",
        # 16-bit logits and one fp32 copy, which the gradient takes over.
        logit_bytes=6.0,
        # A layer's 16-bit gradients and the fp32 input of their reduce-scatter.
        layer_gradient_bytes=6.0,
    ),
    wire=WireTraits(
        # ZeRO 3 gathers a layer before its forward and again before its backward pass.
        gathers=lambda zero: 2 if zero >= 3 else 0,
        reduces_each=lambda zero: zero >= 2,
        contexts=("p2p",),
        reduce_bytes=4.0,
        # One layer is one unit.
        bucket=lambda job, ranks, ways: parameters.dense_layer(job.model).total / ways,
    ),
    # Widened (6), maximum (4), shifted, exponentiated and divided (8 each), summed (4), scaled (8),
    # narrowed (6).
    kernels=KernelTraits(loss_bytes=52.0),
    host=HOST,
)

TARGET = Target(
    name="plan",
    options=Options,
    domains=domains,
    predicates=PREDICATES,
    refusals=(refusals.adapters("target plan"),),
    traits=TRAITS,
)
