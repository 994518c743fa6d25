"""The optimizer in host memory (`offload = optimizer`): when it is offered, and what Megatron-LM demands.

Its sources are read at megatron-core 0.19.2: core/optimizer/cpu_offloading/hybrid_optimizer.py.
"""

from collections.abc import Sequence
from typing import Any

from ...compiler.model import parameters
from ...compiler.target import Effect, Predicate
from ...dsl.expression import names
from ...dsl.job import Job
from .options import options_of
from .quantized_weights import KEPT
from .transformer_engine import recipe_of

#: Optimizer states, divided over all GPUs, that the search may move by itself: a part in so many of a GPU's
#: memory. Below it other layouts and recomputation find room, and no measured run tells what Megatron-LM's
#: update on a host takes: its price is that of DeepSpeed's.
WORTHWHILE = 4
#: fp32 main weights and Adam's two moments; core/optimizer/optimizer_config.py:431 has no other optimizer.
STATE_BYTES = 12.0
#: Pinned copies of the gradients in fp32 (hybrid_optimizer.py:108), beside the states.
GRADIENT_BYTES = 4.0


def levels(job: Job) -> Sequence[int]:
    """0, and 1 where moving the optimizer frees memory that counts, or a condition speaks of it; `estimate`
    refuses what is not among them."""
    gpus = job.cluster.nodes[-1] * job.cluster.gpus_per_node
    share = STATE_BYTES * parameters.total(job.model, seq_len=job.train.seq_len) / gpus
    asked = any("offload" in names(each.expression) for each in job.goal.constraints)
    worthwhile = asked or share >= job.cluster.gpu.memory / WORTHWHILE
    able = job.train.optimizer == "adam" and options_of(job).moment_dtype == "fp32"
    return (0, 1) if able and worthwhile else (0,)


def _takes_the_weights(job: Job, offload: Any) -> Any:
    quantized = job.train.precision in KEPT and options_of(job).fp8_params
    return (offload == 0) | (recipe_of(job) == "delayed") | (not quantized)


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
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR446",
        "offload-fp8",
        "the optimizer on the host with quantized weights of another recipe than delayed",
        ("offload",),
        _takes_the_weights,
        lambda job, offload: (
            f"offload supports weights kept in {job.train.precision} only with `fp8_recipe = delayed`; "
            "`fp8_params = false` keeps them in 16 bits"
        ),
        "megatron-core 0.19.2 megatron/training/arguments.py:1808",
    ),
)
