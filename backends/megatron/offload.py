"""The optimizer in host memory (`offload = optimizer`): when it is offered, and what Megatron-LM demands.

Its sources are read at megatron-core 0.19.2: core/optimizer/cpu_offloading/hybrid_optimizer.py.
"""

from collections.abc import Sequence
from typing import Any

from ...compiler.target import Predicate
from ...dsl.job import Job
from .options import options_of
from .quantized_weights import KEPT

#: fp32 main weights and Adam's two moments; core/optimizer/optimizer_config.py:431 has no other optimizer.
STATE_BYTES = 12.0
#: Pinned copies of the gradients in fp32 (hybrid_optimizer.py:108), beside the states.
GRADIENT_BYTES = 4.0


def levels(job: Job) -> Sequence[int]:
    """0, and 1 where the optimizer can be moved. No measured run tells what its update on a host takes: its
    price is that of DeepSpeed's."""
    able = job.train.optimizer == "adam" and options_of(job).moment_dtype == "fp32"
    return (0, 1) if able else (0,)


def _takes_the_weights(job: Job, offload: Any) -> Any:
    quantized = job.train.precision in KEPT and options_of(job).fp8_params
    delayed = job.train.precision == "fp8" and options_of(job).fp8_recipe == "delayed"
    return (offload == 0) | delayed | (not quantized)


PREDICATES = (
    Predicate(
        "PAR445",
        "offload-zero",
        "the optimizer on the host without the distributed optimizer",
        ("zero", "offload"),
        lambda job, zero, offload: (offload == 0) | (zero == 1),
        lambda job, zero, offload: f"offload needs the distributed optimizer, zero 1, not zero {zero}",
        "megatron-core 0.19.2 core/optimizer/optimizer_config.py:434",
        stricter="Megatron-FSDP starts with it, and parc prices no such run",
    ),
    Predicate(
        "PAR446",
        "offload-fp8",
        "the optimizer on the host with quantized weights of another recipe than delayed",
        ("offload",),
        _takes_the_weights,
        lambda job, offload: (
            f"offload takes weights kept in {job.train.precision} with `fp8_recipe = delayed` alone; "
            "`fp8_params = false` keeps them in 16 bits"
        ),
        "megatron-core 0.19.2 megatron/training/arguments.py:1808",
    ),
)
