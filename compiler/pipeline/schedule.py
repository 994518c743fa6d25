"""What another schedule than 1F1B changes in a price: micro-batches in flight and the length of the bubble.

Only a schedule that the target's settings name (`traits.pipeline.schedule`) is priced here, by its order of
passes: 1F1B, interleaved where vpp is above 1, has closed forms (`rank_load.py`, `time/step.py`).
"""

from functools import cache

from ...dsl.arrays import np
from ..algebra import Algebra, Column, Value, term
from ..case import Case
from ..model import flops
from ..schedule.orders import ORDERS, in_flight
from ..schedule.simulator import Pipeline, length, simulate

#: Denominator of the bubble's length in 1F1B's, kept as an integer.
SHARES = 1024
#: Nanoseconds of the simulated forward pass: enough for whole numbers, and none is read as such.
UNIT = 10_000
#: Groups of pp micro-batches that are simulated at most: later ones repeat the steady state.
GROUPS = 4


def flight(case: Case, pp: int, vpp: int, microbatches: int, rank: int) -> float:
    """Micro-batches whose activations a rank holds at once, as `schedule/orders.py` counts them."""
    name = case.traits.pipeline.schedule or "1f1b"
    return _flight(name, pp, vpp, microbatches if name == "gpipe" else _few(pp, microbatches), rank)


def flights(case: Case, pp: Column, vpp: Column, microbatches: Column, rank: Column) -> Column:
    """`flight` of columns."""
    like = np.broadcast_arrays(pp, vpp, microbatches, rank)
    rows = zip(*(each.ravel().tolist() for each in like), strict=True)
    return np.reshape([flight(case, *map(int, row)) for row in rows], like[0].shape)


@cache
def _flight(schedule: str, pp: int, vpp: int, microbatches: int, rank: int) -> float:
    return in_flight(ORDERS[schedule], pp, vpp, microbatches, rank)


def bubble_share(x: Algebra[Value], others: Value) -> Value:
    """The time of all other ranks, `others`, as far as the schedule waits for it: times its simulated bubble
    over 1F1B's, whose closed form divides it by vpp."""
    if x.case.traits.pipeline.schedule is None:
        return others
    return x.over(x.times(others, x.term(simulated_bubble)), SHARES)


@term("1/1024", of=("pp", "vpp", "microbatches", "recompute"))
def simulated_bubble(
    case: Case, pp: Column, vpp: Column, microbatches: Column, recompute: Column
) -> Column:
    """The schedule's bubble over that of 1F1B, (pp - 1) / vpp slots, with equal stages and free sends."""
    found, like = [], np.broadcast_arrays(pp, vpp, microbatches, recompute)
    for row in zip(*(each.ravel().tolist() for each in like), strict=True):
        ranks, chunks, count, mode = map(int, row)
        name = case.traits.pipeline.schedule or "1f1b"
        times = pass_times(case, mode == 2)
        count = _few(ranks, count)
        found.append(0.0 if ranks == 1 else SHARES * _bubble(name, ranks, chunks, count, times))
    return np.array(found, dtype=float).reshape(like[0].shape)


def weight_share(case: Case) -> float:
    """The part of a backward pass without recomputation that weight gradients take: attention has none."""
    forward = flops.forward(case.model, case.seq_len)
    return (1 - forward.attention_core / forward.total) / 2


def pass_times(case: Case, recomputes: bool) -> tuple[int, int, int]:
    """Forward pass, gradients of inputs and of weights in proportion to their FLOP, with the forward pass
    again before the gradients where all of it is recomputed."""
    weight = round(2 * UNIT * weight_share(case))
    return UNIT, 2 * UNIT - weight + UNIT * recomputes, weight


@cache
def _bubble(
    schedule: str, pp: int, vpp: int, microbatches: int, times: tuple[int, int, int]
) -> float:
    forward, inputs, weight = times
    pipeline = Pipeline(
        forward=[[forward] * vpp] * pp,
        backward=[[inputs + weight] * vpp] * pp,
        weight=[[weight] * vpp] * pp,
    )
    slot = forward + inputs + weight
    runs = simulate(pipeline, ORDERS[schedule], microbatches)
    return (length(runs) - microbatches * vpp * slot) / ((pp - 1) * slot)


def _few(pp: int, microbatches: int) -> int:
    """As few micro-batches as have the same bubble: whole groups, where there are whole groups."""
    if microbatches % pp or microbatches <= GROUPS * pp:
        return microbatches
    return GROUPS * pp
