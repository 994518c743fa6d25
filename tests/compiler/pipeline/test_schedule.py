"""Closed forms of orders of passes are what simulating them gives, in all numbers that torch runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.pipeline.schedule import SHARES, bubble_slots, in_flight, weight_share
from parc.compiler.plan import PASSES
from parc.compiler.schedule.orders import ORDERS, V_SHAPED
from parc.compiler.schedule.orders import in_flight as counted
from parc.compiler.schedule.simulator import Pipeline, length, simulate
from tests.support.solver_and_sweep import example

#: Chunks of a rank that an order has.
CHUNKS = {
    "1f1b": (1, 2, 3, 4),
    "gpipe": (1,),
    "interleaved_zb": (2, 3, 4),
    "zbv": (2,),
    "dualpipev": (2,),
}


def drawn(order: str) -> Iterator[tuple[int, int, int]]:
    """pp, vpp and micro-batches; rounds of another size than pp and fewer micro-batches are among them."""
    for pp, vpp in product((1, 2, 3, 4, 5, 8, 12), CHUNKS[order]):
        for microbatches in range(1, 4 * pp + 2):
            rounds = max(microbatches // pp, 1)
            if order in V_SHAPED:
                if pp > 1 and microbatches >= 2 * pp - (order == "zbv"):
                    yield pp, vpp, microbatches
                continue
            fewer = order == "gpipe" or (order == "1f1b" and vpp > 1)
            if (vpp == 1 or microbatches % rounds == 0) and (fewer or microbatches >= pp):
                yield pp, vpp, microbatches


@pytest.mark.parametrize("order", PASSES)
def test_micro_batches_in_flight_are_those_of_the_order(order: str) -> None:
    index = PASSES.index(order)
    for pp, vpp, microbatches in drawn(order):
        for rank in range(pp):
            expected = counted(ORDERS[order], pp, vpp, microbatches, rank)
            found = in_flight(pp, vpp, microbatches, index, rank)
            assert found == expected, (pp, vpp, microbatches, rank)


@pytest.mark.parametrize("name", ["llama3_70b", "llama3_405b_131k", "mixtral_8x7b"])
@pytest.mark.parametrize("order", [each for each in PASSES if each != "1f1b"])
@pytest.mark.parametrize("recompute", [0, 2])
def test_the_bubble_is_the_simulated_one(name: str, order: str, recompute: int) -> None:
    """Of equal stages whose messages take no time, to a part in a thousand of itself; that of 1F1B is the
    longest chain's (test_longest_chain.py)."""
    case = Case(example(name), BACKENDS["torchtitan"].target)
    weight = round(2 * 10_000 * weight_share(case))
    forward, backward = 10_000, 20_000 + 10_000 * (recompute == 2)
    for pp, vpp, microbatches in drawn(order):
        pipeline = Pipeline(
            forward=[[forward] * vpp] * pp,
            backward=[[backward] * vpp] * pp,
            weight=[[weight] * vpp] * pp,
            v_shaped=order in V_SHAPED,
        )
        slot = forward + backward
        simulated = length(simulate(pipeline, ORDERS[order], microbatches))
        waited = simulated - microbatches * vpp * slot
        values = (pp, vpp, 0, microbatches, recompute, PASSES.index(order))
        slots = np.ravel(bubble_slots.function(case, *(np.array([each]) for each in values)))[0]
        assert (pp - 1) * slot * slots / SHARES == pytest.approx(waited, rel=1e-3), values
