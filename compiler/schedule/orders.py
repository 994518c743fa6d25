"""A schedule, pp, vpp and micro-batches -> the passes of each pipeline rank in the order that it runs them.

1F1B and its interleaved form as Megatron-LM's core/pipeline_parallel/schedules.py has them (core_v0.19.0:
get_pp_rank_microbatches, get_schedule_table and forward_backward_pipelining_with_interleaving); torch 2.13's
distributed/pipelining/schedules.py has the same, and GPipe.
"""

from collections.abc import Callable
from typing import NamedTuple


class Pass(NamedTuple):
    """One pass of a micro-batch through one chunk of a rank; all three count from 0."""

    backward: bool
    chunk: int
    microbatch: int


def one_forward_one_backward(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """Warm-up of a forward pass for each later rank, then one forward and one backward pass in turn; with
    `vpp` > 1 chunks a rank, interleaved."""
    forward, backward = _passes(pp, vpp, microbatches)
    last, ahead = pp - rank - 1, (vpp - 1) * _group(pp, microbatches)
    warm_up = min(last if vpp == 1 else 2 * last + ahead, len(forward))
    steady = len(forward) - warm_up
    pairs = zip(forward[warm_up:], backward[:steady], strict=True)
    return [*forward[:warm_up], *(each for pair in pairs for each in pair), *backward[steady:]]


def gpipe(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """All forward passes, then all backward passes (Huang et al. 2019, arXiv 1811.06965)."""
    forward, backward = _passes(pp, vpp, microbatches)
    return [*forward, *backward]


def _passes(pp: int, vpp: int, microbatches: int) -> tuple[list[Pass], list[Pass]]:
    """All forward and all backward passes of a rank: each chunk in turn for a group of micro-batches."""
    group = _group(pp, microbatches)
    table = [
        (chunk, microbatch)
        for begin in range(0, microbatches, group)
        for chunk in range(vpp)
        for microbatch in range(begin, min(begin + group, microbatches))
    ]
    backward = [Pass(True, vpp - 1 - chunk, microbatch) for chunk, microbatch in table]
    return [Pass(False, *each) for each in table], backward


def _group(pp: int, microbatches: int) -> int:
    """Micro-batches that pass a chunk before the next chunk's turn: pp where their number is a multiple of
    it, as Megatron-LM's must be; else torch's microbatches_per_round (ScheduleInterleaved1F1B)."""
    return microbatches // max(microbatches // pp, 1)


#: pp, vpp, micro-batches and a rank -> the rank's passes in order.
Order = Callable[[int, int, int, int], list[Pass]]
#: Orders of work by name.
ORDERS: dict[str, Order] = {"1f1b": one_forward_one_backward, "gpipe": gpipe}


def enough_microbatches(order: Order, pp: int, vpp: int, microbatches: int, shown: int) -> int:
    """The fewest micro-batches, whole groups, whose step begins as the step of all `microbatches` does, until
    the `shown` first ones are through: while their last backward pass is waited for, the first rank runs
    ahead by a warm-up, which is less than two groups for each chunk."""
    if order is gpipe or (vpp > 1 and microbatches % pp):
        return microbatches
    return min(microbatches, (-(-shown // pp) + 2) * pp)
