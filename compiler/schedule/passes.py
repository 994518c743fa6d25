"""Passes of a pipeline rank, one at a time: forward passes, and backward passes whole or in two halves."""

from typing import NamedTuple

#: Kinds of passes: forward; backward, gradients of inputs and weights; gradients of inputs alone, which the
#: stage before waits for; gradients of weights alone, which nobody waits for.
FORWARD, BACKWARD, INPUT, WEIGHT = range(4)


class Pass(NamedTuple):
    """One pass of a micro-batch through one chunk of a rank; chunk and micro-batch count from 0."""

    kind: int
    chunk: int
    microbatch: int

    @property
    def backward(self) -> bool:
        return self.kind != FORWARD
