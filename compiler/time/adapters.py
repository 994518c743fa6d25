"""Time of the adapters beside frozen weights, and of frozen weights in 4 bits: seconds of one half-layer and
micro-batch."""

from __future__ import annotations

from typing import Literal

from ..algebra import Column
from ..case import Case
from ..tuning.ledger import stored_bytes, targets
from ..tuning.matrices import matrices
from .kernels import product, streamed

#: Bytes per element of a target's output that scaling what an adapter makes, and adding it, move in either
#: direction (peft, tuners/lora/layer.py: Linear.forward): read and written; twice read, and written.
ADDED_BYTES = 10.0
Half = Literal["attention", "feed_forward"]


def adapters(case: Case, tokens: Column, part: Half, backward: bool) -> Column:
    """Seconds of the two products of each adapter of a half-layer, of which the backward pass has the
    gradients of inputs and of weights, of adding what they make, and of widening 4-bit weights."""
    chosen = case.train.adapters
    if chosen is None:
        return 0.0 * tokens
    seconds: Column = 0.0 * tokens + widened(case, part)
    for matrix in targets(case.model, chosen):
        if matrix.part != part:
            continue
        down = product(case, tokens, chosen.rank, matrix.inputs, True)
        up = product(case, tokens, matrix.outputs, chosen.rank, True)
        seconds = seconds + (2 if backward else 1) * (down + up)
        seconds = seconds + streamed(case, ADDED_BYTES * tokens * matrix.outputs)
    return seconds


def widened(case: Case, part: Half) -> Column:
    """Seconds of writing the 4-bit matrices of a half-layer in 16 bits, which each of its products does anew
    (bitsandbytes, autograd/_functions.py: MatMul4Bit): what is stored is read, and a copy written.
    """
    if case.train.tune != "qlora":
        return 0.0
    moved = (
        stored_bytes(matrix.elements, "nf4") + 2.0 * matrix.elements
        for matrix in matrices(case.model)
        if matrix.part == part
    )
    return streamed(case, sum(moved))
