"""Attention heads have a size that fused kernels pad.

Why:
Kernels of fused attention are built for head sizes in steps of 32. A head between two of them runs in the
larger one, and tensor cores multiply the rest as zeros: heads of 80 take the time of 96.

Bad:
model { layers = 32; hidden = 2560; heads = 32; ffn = 10240; vocab = 51200 }

Good:
model { layers = 32; hidden = 2560; heads = 20; ffn = 10240; vocab = 51200 }
"""

from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic

from .read_job import ReadJob, warned

CODE = "PAR068"
TITLE = "a head size that starves tensor cores"
SOURCE = "FlashAttention, csrc/flash_attn/src/static_switch.h: HEADDIM_SWITCH"

#: Steps in which kernels are built.
STEP = 32


def check(read: ReadJob) -> Iterator[Diagnostic]:
    model = read.job.model
    if model.mla or read.job.train.attention != "flash" or not model.head_size % STEP:
        return
    size = model.head_size
    wide = -(-size // STEP) * STEP
    key = "head_dim" if model.head_dim is not None else "heads"
    message = (
        f"heads of {size} run in kernels of {wide}: {1 - size / wide:.0%} of the work is zeros"
    )
    help = f"head sizes are multiples of {STEP}: other `heads`, or a `head_dim`"
    yield warned(CODE, message, read.job.span("model", key), help)
