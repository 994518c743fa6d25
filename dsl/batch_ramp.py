"""A batch that grows in equal steps: its stages, and what a run of it counts in steps and in sequences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Every stage is a word of a command line, and a checkpoint at its begin.
MOST_STAGES = 1000


@dataclass(frozen=True)
class Stage:
    """Steps of one batch size; it begins when so many sequences have been trained."""

    begins: int
    batch: int


def stages(first: int, full: int, sequences: int) -> tuple[Stage, ...]:
    """`first`, 2 `first`, ... up to `full` sequences a step, the last from `sequences` trained ones on.

    Empty where the steps are uneven, more than MOST_STAGES, or shorter than a sequence.
    """
    count = full // first
    if full % first or not 1 < count <= MOST_STAGES or sequences < count - 1:
        return ()
    return tuple(Stage(k * sequences // (count - 1), (k + 1) * first) for k in range(count))


def steps_until(ramp: Sequence[Stage], sequences: int) -> int:
    """Steps until at least so many sequences are trained. A stage ends with the step that reaches its end."""
    steps = consumed = 0
    for stage, end in _with_ends(ramp):
        reached = sequences if end is None else min(end, sequences)
        count = max(0, math.ceil((reached - consumed) / stage.batch))
        steps, consumed = steps + count, consumed + count * stage.batch
    return steps


def sequences_after(ramp: Sequence[Stage], steps: int) -> int:
    """Sequences that so many steps train."""
    consumed, left = 0, steps
    for stage, end in _with_ends(ramp):
        count = (
            left if end is None else min(left, max(0, math.ceil((end - consumed) / stage.batch)))
        )
        left, consumed = left - count, consumed + count * stage.batch
    return consumed


def _with_ends(ramp: Sequence[Stage]) -> list[tuple[Stage, int | None]]:
    """Each stage and where the next begins, None for the last."""
    return list(zip(ramp, [*(stage.begins for stage in ramp[1:]), None], strict=True))
