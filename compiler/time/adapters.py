"""Time of the adapters beside frozen weights: seconds of one half-layer and micro-batch."""

from __future__ import annotations

from typing import Literal

from ..algebra import Column
from ..case import Case
from ..tuning.ledger import targets
from .kernels import product, streamed

#: Bytes per element of a target's output that scaling what an adapter makes, and adding it, move in either
#: direction (peft, tuners/lora/layer.py: Linear.forward): read and written; twice read, and written.
ADDED_BYTES = 10.0


def adapters(
    case: Case, tokens: Column, part: Literal["attention", "feed_forward"], backward: bool
) -> Column:
    """Seconds of the two products of each adapter of a half-layer, of which the backward pass has the
    gradients of inputs and of weights, and of adding what they make."""
    chosen = case.train.adapters
    if chosen is None:
        return 0.0 * tokens
    seconds: Column = 0.0 * tokens
    for matrix in targets(case.model, chosen):
        if matrix.part != part:
            continue
        down = product(case, tokens, chosen.rank, matrix.inputs, True)
        up = product(case, tokens, matrix.outputs, chosen.rank, True)
        seconds = seconds + (2 if backward else 1) * (down + up)
        seconds = seconds + streamed(case, ADDED_BYTES * tokens * matrix.outputs)
    return seconds
