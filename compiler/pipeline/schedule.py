"""The order of a pipeline's passes -> what it changes in a price: micro-batches in flight and the bubble.

Closed forms of the orders in `schedule/orders.py`, with equal stages and free sends; the simulator gives the
same (tests/compiler/pipeline/test_schedule.py).
"""

from ...dsl.arrays import np
from ...dsl.expression import VALUES
from ..algebra import Algebra, Column, Term, Value, term
from ..case import Case
from ..model import flops
from ..variables import PLACE
from .groups import group

#: Values of the decision `order`.
ORDER_VALUES = VALUES["order"]
GPIPE, DIVIDED, ZBV, DUAL = (
    ORDER_VALUES[each] for each in ("gpipe", "interleaved_zb", "zbv", "dualpipev")
)
#: Orders that compute gradients of inputs and of weights apart.
HALVED = (DIVIDED, ZBV, DUAL)
#: Denominator of the bubble's length in slots, kept as an integer.
SHARES = 1024


def in_flight(pp: Column, vpp: Column, microbatches: Column, order: Column, rank: Column) -> Column:
    """Micro-batches whose activations a rank holds at once, of one rank or columns of them; one counts whole
    when all its chunks hold it.

    As many as the passes forward before the first one backward, and that one. Where backward passes are
    divided, a rank has up to `rank` of them more behind, and holds for each the gradients of its layers'
    outputs as well (`schedule/orders.py:in_flight`). ZBV's are those of at least 2 * pp - 1 micro-batches,
    DualPipeV's of 2 * pp.
    """
    passes, ahead = microbatches * vpp, (vpp - 1) * group(pp, microbatches)
    whole = np.minimum(passes, ahead + np.where(np.equal(vpp, 1), 1, 2) * (pp - rank - 1) + 1)
    divided = np.minimum(passes, ahead + pp) + np.minimum(passes, rank + 1)
    held = np.where(np.equal(order, DIVIDED), divided, whole)
    held = np.where(np.equal(order, ZBV), np.maximum(2 * pp + 1, pp + 1 + 3 * rank), held)
    held = np.where(np.equal(order, DUAL), 2 * pp + 1, held)
    return np.where(np.equal(order, GPIPE), passes, held) / vpp


def bubble_of(x: Algebra[Value], others: Value, share: Term) -> Value:
    """The time of all other ranks, `others`, as far as the order of passes waits for it, times vpp."""
    return x.over(x.times(others, x.term(share)), SHARES) if "pp" in x.case.domains else others


#: The least share of the other ranks' time over vpp that a price counts as bubble.
LEAST = 0.5


@term("1/1024", of=("pp", "recompute", "order"))
def least_bubble_slots(case: Case, pp: Column, recompute: Column, order: Column) -> Column:
    """The least of `bubble_slots` in any placement."""
    plain, recomputing = (_left(case, each, pp) for each in (False, True))
    shares = np.full(np.shape(pp), LEAST)
    for index, halved in enumerate(HALVED):
        left = np.where(np.equal(recompute, 2), recomputing[index], plain[index])
        shares = np.where(np.equal(order, halved), left, shares)
    return np.asarray(np.floor(SHARES * shares))


@term("1/1024", of=("pp", "vpp", PLACE, "microbatches", "recompute", "order"))
def bubble_slots(
    case: Case,
    pp: Column,
    vpp: Column,
    place: Column,
    microbatches: Column,
    recompute: Column,
    order: Column,
) -> Column:
    """The bubble over the vpp-th part of what the other ranks take.

    It is that part in 1F1B with equal chunks (Narayanan et al. 2021, arXiv 2104.04473); with uneven ones what
    the longest chain of passes says (longest_chain.py), at least LEAST of it.

    In other orders fewer micro-batches than ranks do not reach a rank's next chunk before the first of them
    is through all ranks: vpp * (pp - m) + m - 1 passes there and back. Gradients of weights fill the bubble
    of divided backward passes: F + I - W of a slot is left (Qi et al. 2024, arXiv 2401.10241, table 2). ZBV
    leaves I, or 2 * (I - W) where that is more, of at least 2 * pp - 1 micro-batches. DualPipeV leaves
    F + I - W of at least 2 * pp, or where that is more 2 * I - W and F less in all, as simulated where
    W <= F <= I.
    """
    late = np.maximum(pp - microbatches, 0) * (vpp - 1)
    passes = np.where(np.equal(pp, 1), 1.0, 1 + late / np.maximum(pp - 1, 1))
    plain, recomputing = (_left(case, each, pp) for each in (False, True))
    shares = np.ones_like(passes)
    for index, halved in enumerate(HALVED):
        left = np.where(np.equal(recompute, 2), recomputing[index], plain[index])
        shares = np.where(np.equal(order, halved), left, shares)
    like = np.broadcast_arrays(passes * shares, pp, vpp, place, microbatches, recompute, order)
    found = like[0].copy()
    plain = like[-1] == 0
    found[plain] = [
        _chained(case, *row)
        for row in zip(*(each[plain].tolist() for each in like[1:-1]), strict=True)
    ]
    return SHARES * found


def _chained(case: Case, pp: int, vpp: int, place: int, microbatches: int, recompute: int) -> float:
    """The bubble of 1F1B over the vpp-th part of what the other ranks take."""
    return max(LEAST, case.placements.bubble(pp, vpp, place, microbatches, recompute == 2))


def _left(case: Case, recomputes: bool, pp: Column) -> tuple[float, float, Column]:
    """The share of a slot that each of HALVED leaves of the bubble, by FLOP; the forward pass comes again
    before the gradients of inputs where all of it is recomputed."""
    weight = 2 * weight_share(case)
    slot = 3.0 + recomputes
    inputs = slot - 1 - weight
    divided = 1 + inputs - weight
    zbv = max(inputs, 2 * (inputs - weight))
    dual = np.maximum(divided, 2 * inputs - weight - 1 / np.maximum(pp - 1, 1))
    return divided / slot, zbv / slot, dual / slot


def weight_share(case: Case) -> float:
    """The part of a backward pass without recomputation that weight gradients take: attention has none."""
    forward = flops.forward(case.model, case.seq_len)
    return (1 - forward.attention_core / forward.total) / 2
