"""Orders of work are the frameworks', and simulated steps agree with the closed form where that is exact."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from parc.compiler.schedule.orders import (
    ORDERS,
    V_SHAPED,
    enough_microbatches,
    gpipe,
    interleaved_zero_bubble,
    one_forward_one_backward,
    repeated_rounds,
)
from parc.compiler.schedule.passes import BACKWARD, FORWARD, INPUT, WEIGHT, Pass
from parc.compiler.schedule.simulator import Pipeline, Run, length, simulate

#: pp, vpp, micro-batches: interleaved ones in whole groups, as Megatron-LM wants them.
DRAWN = [
    (pp, vpp, count * (pp if vpp > 1 else 1))
    for pp in (1, 2, 3, 4, 8, 16)
    for vpp in ((1,) if pp == 1 else (1, 2, 3, 5))
    for count in (1, 2, 3, 7)
]


def drawn_for(name: str) -> list[tuple[int, int, int]]:
    """Those that torch runs in an order."""
    if name not in V_SHAPED:
        return DRAWN
    least = 2 if name == "dualpipev" else 0
    return [each for each in DRAWN if each[1] == 2 and each[2] >= least * each[0]]


def even(pp: int, vpp: int, forward: int, backward: int, message: int = 0) -> Pipeline:
    return Pipeline([[forward] * vpp] * pp, [[backward] * vpp] * pp, message)


def divided(pp: int, vpp: int, times: tuple[int, int, int], v_shaped: bool = False) -> Pipeline:
    """Equal stages whose forward pass, gradients of inputs and of weights take `times`."""
    forward, inputs, weight = ([[each] * vpp] * pp for each in times)
    return Pipeline(forward, [[times[1] + times[2]] * vpp] * pp, 0, weight, v_shaped)


def words(order: list[Pass]) -> str:
    return " ".join(f"{'B' if b else 'F'}{chunk}.{mb}" for b, chunk, mb in order)


def test_orders_are_those_of_the_papers() -> None:
    """1F1B of two ranks; interleaved as figure 4 of arXiv 2104.04473 begins, with 4 ranks of 2 chunks."""
    assert words(one_forward_one_backward(2, 1, 3, 0)) == "F0.0 F0.1 B0.0 F0.2 B0.1 B0.2"
    assert words(one_forward_one_backward(2, 1, 3, 1)) == "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2"
    first = words(one_forward_one_backward(4, 2, 8, 0))
    assert first.startswith("F0.0 F0.1 F0.2 F0.3 F1.0 F1.1 F1.2 F1.3 F0.4 F0.5 F0.6 B1.0 F0.7 B1.1")
    assert words(one_forward_one_backward(4, 2, 8, 3)).startswith("F0.0 F0.1 F0.2 F0.3 F1.0 B1.0")
    assert words(gpipe(2, 1, 2, 0)) == "F0.0 F0.1 B0.0 B0.1"


@pytest.mark.parametrize("name", ORDERS)
def test_every_pass_runs_once(name: str) -> None:
    """Forward and backward, or both of its halves: gradients of weights after those of inputs."""
    for pp, vpp, microbatches in drawn_for(name):
        every = [(chunk, each) for chunk in range(vpp) for each in range(microbatches)]
        for rank in range(pp):
            found = ORDERS[name](pp, vpp, microbatches, rank)
            assert len(found) == len(set(found))
            at = {work: index for index, work in enumerate(found)}
            for one in every:
                kinds = {kind for kind in range(4) if Pass(kind, *one) in at}
                assert kinds in ({FORWARD, BACKWARD}, {FORWARD, INPUT, WEIGHT})
                if WEIGHT in kinds:
                    assert at[Pass(INPUT, *one)] < at[Pass(WEIGHT, *one)]
            assert {(work.chunk, work.microbatch) for work in found} == set(every)


@pytest.mark.parametrize(("pp", "vpp", "microbatches"), DRAWN)
@pytest.mark.parametrize(("forward", "backward"), [(100, 200), (100, 300), (170, 90)])
def test_the_bubble_is_that_of_the_closed_form(
    pp: int, vpp: int, microbatches: int, forward: int, backward: int
) -> None:
    """(pp - 1) / vpp slots of a rank, arXiv 2104.04473, 2.2, exactly."""
    runs = simulate(even(pp, vpp, forward, backward), one_forward_one_backward, microbatches)
    busy = microbatches * vpp * (forward + backward)
    assert length(runs) - busy == (pp - 1) * (forward + backward)


@pytest.mark.parametrize("pp", [1, 2, 5, 16])
@pytest.mark.parametrize("microbatches", [1, 3, 20])
def test_gpipe_has_the_bubble_of_1f1b(pp: int, microbatches: int) -> None:
    runs = simulate(even(pp, 1, 10, 20), gpipe, microbatches)
    assert length(runs) == (microbatches + pp - 1) * 30


def drawn_pipeline(pp: int, vpp: int, draw: random.Random, v_shaped: bool = False) -> Pipeline:
    def times(least: int = 50) -> list[list[int]]:
        return [[draw.randint(least, least + 100) for _ in range(vpp)] for _ in range(pp)]

    return Pipeline(times(), times(200), draw.randint(0, 30), times(), v_shaped)


@pytest.mark.parametrize("name", ORDERS)
def test_passes_wait_for_their_inputs_and_never_overlap(name: str) -> None:
    draw = random.Random(5)
    for pp, vpp, microbatches in draw.choices(drawn_for(name), k=25):
        pipeline = drawn_pipeline(pp, vpp, draw, name in V_SHAPED)
        runs = simulate(pipeline, ORDERS[name], microbatches)
        for each in runs:
            assert all(one.sent <= two.begin for one, two in pairwise(each))
        check_inputs(pipeline, runs)


def check_inputs(pipeline: Pipeline, runs: list[list[Run]]) -> None:
    last = pipeline.pp * pipeline.vpp - 1
    at = {
        (run.work.backward, pipeline.stages(rank)[run.work.chunk], run.work.microbatch): run
        for rank, each in enumerate(runs)
        for run in each
        if run.work.kind != WEIGHT
    }
    for (backward, stage, microbatch), run in at.items():
        before = (True, stage + 1) if backward and stage < last else (False, stage - (not backward))
        if before[1] >= 0:
            assert at[(*before, microbatch)].sent <= run.begin


@pytest.mark.parametrize(
    ("pp", "vpp", "microbatches"), [(4, 2, 3), (4, 3, 6), (4, 2, 10), (8, 2, 22)]
)
def test_batches_that_torch_interleaves_run(pp: int, vpp: int, microbatches: int) -> None:
    """Rounds of equal size that are no multiple of pp: no bubble is shorter than with all passes at hand."""
    runs = simulate(even(pp, vpp, 100, 200), one_forward_one_backward, microbatches)
    check_inputs(even(pp, vpp, 100, 200), runs)
    assert length(runs) >= microbatches * vpp * 300 + (pp - 1) * 300


def test_the_first_microbatches_run_as_in_the_whole_step() -> None:
    draw = random.Random(7)
    drawn = [(1, 1), (2, 1), (8, 1), (2, 2), (4, 3), (8, 4)]
    every = [("1f1b", each) for each in drawn]
    every += [("interleaved_zb", each) for each in drawn if each[1] > 1]
    every += [(name, (pp, 2)) for name in V_SHAPED for pp in (2, 4, 7)]
    for name, (pp, vpp) in every:
        pipeline = drawn_pipeline(pp, vpp, draw, name in V_SHAPED)
        order = ORDERS[name]
        whole = simulate(pipeline, order, 12 * pp)
        for shown in (1, pp, 2 * pp + 1):
            enough = enough_microbatches(order, pp, vpp, 12 * pp, shown)
            assert enough < 12 * pp or pp == 1
            part = simulate(pipeline, order, enough)
            assert first(part, shown) == first(whole, shown)


@pytest.mark.parametrize("name", ORDERS)
def test_a_step_with_rounds_counted_again_takes_as_long_as_the_whole_one(name: str) -> None:
    """Of any number of micro-batches that an order runs, in groups of another size than pp, too."""
    draw, order, repeated = random.Random(11), ORDERS[name], 0
    for _ in range(60):
        pp = draw.choice((2, 3, 4, 6))
        vpp = 2 if name in V_SHAPED else draw.choice((1, 2, 3))
        count = draw.randint(7 * pp, 14 * pp)
        while vpp > 1 and name not in ("gpipe", *V_SHAPED) and count % max(count // pp, 1):
            count += 1
        again = repeated_rounds(order, pp, vpp, count)
        pipeline = drawn_pipeline(pp, vpp, draw, name in V_SHAPED)
        taken = length(simulate(pipeline, order, count - again * pp))
        if again:
            taken += again * (taken - length(simulate(pipeline, order, count - (again + 1) * pp)))
        assert taken == pytest.approx(length(simulate(pipeline, order, count)), rel=5e-3)
        repeated += again > 0
    assert repeated > 20


def first(runs: list[list[Run]], shown: int) -> list[list[Run]]:
    return [[run for run in each if run.work.microbatch < shown] for each in runs]


def test_an_order_that_waits_for_itself_is_told() -> None:
    def backward_first(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
        return one_forward_one_backward(pp, vpp, microbatches, rank)[::-1]

    with pytest.raises(ValueError, match="2 micro-batches never end on 2 ranks of 1 chunks"):
        simulate(even(2, 1, 1, 1), backward_first, 2)


@pytest.mark.parametrize("pp", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("times", [(10, 10, 10), (10, 12, 10), (10, 14, 8), (10, 20, 10)])
def test_zero_bubble_without_interleaving_is_zb_h1(pp: int, times: tuple[int, int, int]) -> None:
    """Its bubble is (pp - 1)(F + B - W), Qi et al. 2024, table 2 (arXiv 2401.10241), exactly."""
    runs = simulate(divided(pp, 1, times), interleaved_zero_bubble, 3 * pp)
    forward, inputs, weight = times
    assert length(runs) - 3 * pp * sum(times) == (pp - 1) * (forward + inputs - weight)


@pytest.mark.parametrize("pp", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("microbatches", [2, 3, 5])
def test_zbv_has_no_bubble_where_all_passes_are_equal(pp: int, microbatches: int) -> None:
    """But those of pp - 1 ranks that wait for their first input; the optimizer waits for the last to end."""
    count = microbatches * pp
    runs = simulate(divided(pp, 2, (10, 10, 10), True), ORDERS["zbv"], count)
    for rank, each in enumerate(runs):
        assert each[0].begin == 10 * rank
        assert each[-1].end - each[0].begin == 2 * 3 * 10 * count


@pytest.mark.parametrize(
    ("name", "pp", "vpp", "microbatches"),
    [
        ("1f1b", 10, 1, 100),
        ("1f1b", 10, 2, 50),
        ("1f1b", 32, 1, 32),
        ("interleaved_zb", 10, 2, 50),
        ("zbv", 10, 2, 50),
        ("dualpipev", 10, 2, 50),
    ],
)
def test_a_thousand_stages_and_microbatches_take_50_ms(
    name: str, pp: int, vpp: int, microbatches: int
) -> None:
    """CPU time, the best of fifty: others on the machine make some slower, and none faster."""
    taken, pipeline = [1.0], divided(pp, vpp, (100, 110, 90), name in V_SHAPED)
    while min(taken) >= 0.05 and len(taken) <= 50:
        begin = time.process_time()
        simulate(pipeline, ORDERS[name], microbatches)
        taken.append(time.process_time() - begin)
    assert min(taken) < 0.05
