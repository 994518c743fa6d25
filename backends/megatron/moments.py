"""Adam's moments in 16 bits, by the precision-aware optimizer of Megatron-LM and Transformer Engine.

Its sources are read at megatron-core 0.19.2.
"""

from ...compiler.target import Effect, Predicate
from ...dsl.job import Job
from .options import options_of
from .releases import from_release

#: Precisions whose weights in bf16 are the upper half of the main ones: the optimizer keeps the lower 16 bits
#: alone (core/optimizer/optimizer_config.py:192, store_param_remainders).
REMAINDERS = ("bf16", "nvfp4")
#: Bytes per parameter of the fp32 copies that Transformer Engine's Adam made of moments in 16 bits, of all
#: that a rank owns at once (2.13 pytorch/optimizers/fused_adam.py:306, get_unscaled_state). From 2.14 on its
#: kernel reads them as they are (pull request 2632); FUSED is the first release of Megatron-LM whose lock
#: file has that.
COPIES, FUSED = 8.0, "0.18"


def short(job: Job) -> bool:
    return options_of(job).moment_dtype == "bf16"


def optimizer_bytes(job: Job, plain: float) -> float:
    """Bytes per parameter of main weights and moments; `plain` where all are fp32."""
    if not short(job):
        return plain
    main = 2.0 if job.train.precision in REMAINDERS else 4.0
    return main + 2.0 + 2.0


def update_bytes(job: Job, cast: float) -> float:
    """Bytes per parameter that the update allocates, where fp32 copies of gradients take `cast`: none are
    made where the optimizer reads gradients as they are (core/optimizer/distrib_optimizer.py,
    decoupled_grad)."""
    if not short(job):
        return cast
    copies = 0.0 if from_release(job, FUSED) else COPIES
    return copies + (0.0 if job.train.precision in REMAINDERS else cast)


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
