"""Adam's moments in 16 bits, by the precision-aware optimizer of Megatron-LM and Transformer Engine.

Its sources are read at megatron-core 0.19.2.
"""

from ...compiler.target import Effect, Predicate
from ...dsl.job import Job
from .options import options_of

#: Precisions whose weights in bf16 are the upper half of the main ones: the optimizer keeps the lower 16 bits
#: alone (core/optimizer/optimizer_config.py:192, store_param_remainders).
REMAINDERS = ("bf16", "nvfp4")


def short(job: Job) -> bool:
    return options_of(job).moment_dtype == "bf16"


def optimizer_bytes(job: Job, plain: float) -> float:
    """Bytes per parameter of main weights and moments; `plain` where all are fp32."""
    if not short(job):
        return plain
    main = 2.0 if job.train.precision in REMAINDERS else 4.0
    return main + 2.0 + 2.0


PREDICATES = (
    Predicate(
        "PAR447",
        "moments-zero",
        "moments in bf16 without the distributed optimizer",
        ("zero",),
        lambda job, zero: (zero == 1) | (not short(job)),
        lambda job, zero: (
            f"moment_dtype bf16 needs the distributed optimizer, zero 1, not zero {zero}"
        ),
        "megatron-core 0.19.2 core/optimizer/optimizer_config.py:434",
        stricter="Megatron-FSDP starts with it, and parc prices no such run",
        effect=Effect.ACCEPTS,
    ),
)
