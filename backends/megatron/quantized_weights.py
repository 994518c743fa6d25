"""Memory that quantized products add to weights: Transformer Engine's copies, or weights that are
quantized themselves (`fp8_params`).

Its sources are read at NVIDIA/TransformerEngine@d0067d0d (2.20 pre-release) and megatron-core 0.19.2.
"""

from ...compiler.model import parameters
from ...dsl.job import Job
from ..capability import capability
from .options import options_of
from .transformer_engine import recipe_of

#: Precisions whose weights may be kept quantized.
KEPT = ("fp8", "mxfp8")


def kept_quantized(job: Job, zero: int) -> bool:
    """Whether --fp8-param-gather is written: with the distributed optimizer (training/arguments.py:1060), and
    not with Megatron-FSDP, which drops what it need not keep (parc prices no such run)."""
    return zero == 1 and job.train.precision in KEPT and options_of(job).fp8_params


def copies_bytes(job: Job) -> float:
    """Bytes per element of a matrix as its products read it, as it is and transposed; 0 in 16 bits.

    Scales of single tensors need no transposed copy where products take any layout (pytorch/utils.py:658);
    those of blocks are for one direction.
    """
    precision, recipe = job.train.precision, recipe_of(job)
    if precision == "fp8":
        arch = capability(job)
        any_layout = recipe != "blockwise" and (100 <= arch < 120 or arch >= 130)
        return 1.0 if any_layout else 2.0
    return {"mxfp8": 2 * (1 + 1 / 32), "nvfp4": 2 * (1 / 2 + 1 / 16)}.get(precision, 0.0)


def weight_bytes(job: Job, zero: int) -> float:
    """Bytes per parameter of weights, those of embedding and head in 16 bits."""
    if not kept_quantized(job, zero):
        return 2.0
    whole = parameters.total(job.model, seq_len=job.train.seq_len)
    share = parameters.blocks(job.model).total / whole
    return 2.0 - share * max(2.0 - copies_bytes(job), 0.0)


def copied_bytes(job: Job, zero: int) -> float:
    """Bytes per parameter of a block beside `weight_bytes`: copies that stay from the first micro-batch to
    the next update (pytorch/module/base.py, quantize_weight; core/extensions/transformer_engine.py:1082),
    whole under Megatron-FSDP too."""
    kept = 2.0 if kept_quantized(job, zero) else 0.0
    return max(copies_bytes(job) - kept, 0.0)


def gathered_bytes(job: Job, zero: int) -> float:
    """Bytes per parameter of updated weights as they travel: those of mxfp8 in 16 bits, by way of the
    gradient's buffer (core/distributed/param_and_grad_buffer.py:1160)."""
    return 1.0 if kept_quantized(job, zero) and job.train.precision == "fp8" else 2.0
