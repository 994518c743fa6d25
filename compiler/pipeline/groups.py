"""Micro-batches that pass a chunk of a pipeline before the next chunk's turn."""

from ...dsl.arrays import np
from ..algebra import Column


def group(pp: Column, microbatches: Column) -> Column:
    """pp of them where their number is a multiple of it, as Megatron-LM's must be; else torch's
    microbatches_per_round (ScheduleInterleaved1F1B)."""
    return microbatches // np.maximum(microbatches // pp, 1)
