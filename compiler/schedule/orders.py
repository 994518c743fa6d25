"""A schedule, pp, vpp and micro-batches -> the passes of each pipeline rank in the order that it runs them.

1F1B and its interleaved form as Megatron-LM's core/pipeline_parallel/schedules.py has them (core_v0.19.0:
get_pp_rank_microbatches, get_schedule_table and forward_backward_pipelining_with_interleaving); torch 2.13's
distributed/pipelining/schedules.py has the same. All others as torch has them: tests/acceptance compares
each rank's passes with torch's. `v_shaped.py` has the two whose stages go down the ranks and up again.
"""

from collections.abc import Callable
from itertools import zip_longest

from .passes import BACKWARD, FORWARD, INPUT, WEIGHT, Pass
from .v_shaped import dual_pipe_v, zero_bubble_v


def one_forward_one_backward(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """Warm-up of a forward pass for each later rank, then one forward and one backward pass in turn; with
    `vpp` > 1 chunks a rank, interleaved."""
    forward, backward = _passes(pp, vpp, microbatches)
    last, ahead = pp - rank - 1, (vpp - 1) * _group(pp, microbatches)
    warm_up = min(last if vpp == 1 else 2 * last + ahead, len(forward))
    steady = len(forward) - warm_up
    pairs = zip(forward[warm_up:], backward[:steady], strict=True)
    return [*forward[:warm_up], *(each for pair in pairs for each in pair), *backward[steady:]]


def interleaved_zero_bubble(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """As 1F1B with half the warm-up of its interleaved form: backward passes hand gradients of inputs on, and
    weight gradients follow, `rank` passes later, where the rank would wait (ZB-H1 of Qi et al. 2024, arXiv
    2401.10241, 3.1; torch's ScheduleInterleavedZeroBubble)."""
    forward, backward = _passes(pp, vpp, microbatches)
    warm_up = min((vpp - 1) * _group(pp, microbatches) + pp - rank - 1, len(forward))
    inputs = [each._replace(kind=INPUT) for each in backward]
    weights = [each._replace(kind=WEIGHT) for each in backward]
    late: list[Pass | None] = [None] * rank
    turns = zip_longest(forward[warm_up:], inputs, [*late, *weights])
    return [*forward[:warm_up], *(each for turn in turns for each in turn if each is not None)]


def gpipe(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """All forward passes, then all backward passes (Huang et al. 2019, arXiv 1811.06965); with `vpp` > 1 all
    micro-batches pass a chunk before the next (Lamy-Poirier 2022, arXiv 2211.05953, breadth first), and torch
    takes them back from the last on."""
    forward = [Pass(FORWARD, chunk, each) for chunk in range(vpp) for each in range(microbatches)]
    backward = forward[::-1] if vpp > 1 else forward
    return [*forward, *(each._replace(kind=BACKWARD) for each in backward)]


def _passes(pp: int, vpp: int, microbatches: int) -> tuple[list[Pass], list[Pass]]:
    """All forward and all backward passes of a rank: each chunk in turn for a group of micro-batches."""
    group = _group(pp, microbatches)
    table = [
        (chunk, microbatch)
        for begin in range(0, microbatches, group)
        for chunk in range(vpp)
        for microbatch in range(begin, min(begin + group, microbatches))
    ]
    backward = [Pass(BACKWARD, vpp - 1 - chunk, microbatch) for chunk, microbatch in table]
    return [Pass(FORWARD, *each) for each in table], backward


def _group(pp: int, microbatches: int) -> int:
    """Micro-batches that pass a chunk before the next chunk's turn: pp where their number is a multiple of
    it, as Megatron-LM's must be; else torch's microbatches_per_round (ScheduleInterleaved1F1B)."""
    return microbatches // max(microbatches // pp, 1)


#: pp, vpp, micro-batches and a rank -> the rank's passes in order.
Order = Callable[[int, int, int, int], list[Pass]]
#: Orders of work by name.
ORDERS: dict[str, Order] = {
    "1f1b": one_forward_one_backward,
    "gpipe": gpipe,
    "interleaved_zb": interleaved_zero_bubble,
    "zbv": zero_bubble_v,
    "dualpipev": dual_pipe_v,
}
#: Those whose second chunks are on the ranks from the last to the first.
V_SHAPED = frozenset({"zbv", "dualpipev"})


def enough_microbatches(order: Order, pp: int, vpp: int, microbatches: int, shown: int) -> int:
    """The fewest micro-batches, whole groups, whose step begins as the step of all `microbatches` does, until
    the `shown` first ones are through: while their last backward pass is waited for, the first rank runs
    ahead by a warm-up, which is less than two groups for each chunk; than four in the shape of a V.
    """
    turned = order in (zero_bubble_v, dual_pipe_v)
    if order is gpipe or not _keeps_groups(order, pp, vpp, microbatches):
        return microbatches
    return min(microbatches, (-(-shown // pp) + (4 if turned else 2)) * pp)


#: Rounds of pp micro-batches after which each further one takes as long as the last: the ranks are full.
FULL = 6


def repeated_rounds(order: Order, pp: int, vpp: int, microbatches: int) -> int:
    """Rounds of pp micro-batches of a step that take as long as the round before them."""
    if not _keeps_groups(order, pp, vpp, microbatches):
        return 0
    return max(microbatches // pp - FULL, 0)


def _keeps_groups(order: Order, pp: int, vpp: int, microbatches: int) -> bool:
    """Whether a round of pp micro-batches less passes the chunks in groups of the same size."""
    return vpp == 1 or microbatches % pp == 0 or order in (gpipe, zero_bubble_v, dual_pipe_v)


def in_flight(order: Order, pp: int, vpp: int, microbatches: int, rank: int) -> float:
    """The most micro-batches whose activations a rank holds in an order; one counts whole when all its chunks
    hold it. Until its weight gradients are computed a pass keeps its activations, and from its gradient of
    inputs on the gradients of its layers' outputs beside them, which are counted as much again (torch 2.13
    distributed/pipelining/_backward.py:stage_backward_input keeps the graph and `param_group["grads"]`).
    """
    held = most = 0
    for work in order(pp, vpp, microbatches, rank):
        held += HELD[work.kind]
        most = max(most, held)
    return most / vpp


#: How many more chunks of activations a rank holds after a pass of each kind.
HELD = {FORWARD: 1, BACKWARD: -1, INPUT: 1, WEIGHT: -2}
