"""What the toy framework can run: tensor and data parallelism, and what its states weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from parc.compiler.rules.candidate_degrees import gpu_divisors, micro_batches, replica_degrees
from parc.compiler.rules.divisibility import heads_over_tp
from parc.compiler.target import Target
from parc.compiler.traits import KernelTraits, MemoryTraits, StateBytes, Traits, WireTraits
from parc.dsl.job import Job
from parc.dsl.settings import Doc, Frozen

ENTRY = "toy/launch.sh"


class Options(Frozen):
    """The settings of `target toy { ... }`."""

    rate: Annotated[float, Doc("step size of its gradient descent")] = 0.1
    extra: Annotated[dict[str, int], Doc("other options, without --toy-")] = {}


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    return {
        "tp": tuple(way for way in gpu_divisors(job) if job.model.heads % way == 0),
        "dp_replicate": replica_degrees(job),
        "micro_batch": micro_batches(job),
    }


def state(job: Job, zero: int) -> StateBytes:
    return StateBytes(
        weights=2.0,
        gradients=4.0,
        optimizer=12.0,
        weights_sharded=False,
        gradients_sharded=False,
        optimizer_sharded=False,
    )


TRAITS = Traits(
    memory=MemoryTraits(
        state=state, selective="core_attention", logit_bytes=12.0, layer_gradient_bytes=0.0
    ),
    wire=WireTraits(
        gathers=lambda zero: 0, reduces_each=lambda zero: False, reduce_bytes=4.0, contexts=("p2p",)
    ),
    kernels=KernelTraits(loss_bytes=12.0),
)
TARGET = Target(
    name="toy",
    options=Options,
    domains=domains,
    predicates=(heads_over_tp("toy_train.py: a rank holds whole heads"),),
    refusals=(),
    traits=TRAITS,
)
