"""What ranks hold in a placement, as columns: the same as rank by rank; and the even placement as placing
layers one by one gives it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parc.compiler.case import Case
from parc.compiler.pipeline.even_chunks import even_runs
from parc.compiler.pipeline.even_split import (
    head_weight,
    ranks_of,
    recomputed,
    split,
    summed,
)
from parc.compiler.pipeline.placements import Placements
from parc.compiler.pipeline.rank_table import INNER, ROLES, RankTable
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import sweep
from parc.dsl.model import Model
from tests.support.solver_and_sweep import LATENT, example, job_of, target_of

LAYERS = (1, 2, 3, 5, 8, 13, 31, 61, 126)
CHUNKS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 30, 33, 60, 63, 128)
WEIGHTS = (0.0, 0.3, 1.0, 2.6, 7.45, 40.0, 90.5)


def placed_one_by_one(
    layers: int, chunks: int, last_weight: float, light_first: bool
) -> tuple[int, ...]:
    """Layers by chunk: the smallest limit on a load that leaves room for all, and what is spare taken from
    chunk after chunk, round by round."""
    if chunks == 1:
        return (layers,)
    whole = layers // chunks
    limits = sorted({whole + k for k in range(3)} | {whole + k + last_weight % 1 for k in range(2)})
    for limit in (*limits, float(layers)):
        caps = [int(limit)] * (chunks - 1) + [max(0, int(limit - last_weight + 1e-9))]
        if sum(caps) >= layers:
            break
    others = [chunks - 1, *range(chunks - 2, 0, -1)]
    order = [*others, 0] if light_first else [0, *others]
    while sum(caps) > layers:
        for chunk in order:
            if sum(caps) > layers and caps[chunk] > (0 if chunk in (0, chunks - 1) else 1):
                caps[chunk] -= 1
    return tuple(caps)


@pytest.mark.parametrize("light_first", [False, True])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_runs_are_those_of_placing_one_by_one(weight: float, light_first: bool) -> None:
    for layers in LAYERS:
        fitting = [chunks for chunks in CHUNKS if chunks <= layers + 2]
        runs = even_runs(layers, np.array(fitting), weight, light_first).column()
        index = np.arange(max(fitting))[np.newaxis]
        counts, before = runs.layers(index), runs.before(index)
        for row, chunks in enumerate(fitting):
            expected = placed_one_by_one(layers, chunks, weight, light_first)
            assert tuple(counts[row, :chunks].tolist()) == expected
            ahead = [sum(expected[:chunk]) for chunk in range(chunks)]
            assert before[row, :chunks].tolist() == ahead


def model_of(layers: int, dense_layers: int | None) -> Model:
    base = example("llama3_405b" if dense_layers is None else "deepseek_v3").model
    return base.model_copy(
        update={
            "layers": layers,
            **({} if dense_layers is None else {"dense_layers": dense_layers}),
        }
    )


def pairs_of(layers: int) -> list[tuple[int, int]]:
    return [
        (pp, vpp)
        for pp, vpp in product((1, 2, 3, 4, 5, 7, 16, 31), (1, 2, 3, 5, 8, 20))
        if pp * vpp <= (layers + 2 if pp > 1 else 1)
    ]


@pytest.mark.parametrize("dense_layers", [None, 0, 1, 3, 7])
@pytest.mark.parametrize("layers", [8, 13, 31, 61])
@pytest.mark.parametrize("v_shaped", [False, True])
def test_roles_have_what_their_ranks_have(
    v_shaped: bool, layers: int, dense_layers: int | None
) -> None:
    """Every rank of every placement is of one role, with its chunks."""
    placements = Placements(model_of(layers, dense_layers), v_shaped)
    table = RankTable(placements, len(INNER))
    for pp, vpp in pairs_of(layers):
        for place in range(placements.count(pp, vpp)):
            blocks = placements.split(pp, vpp, place).blocks
            columns = [np.array([each]) for each in (pp, vpp, place)]
            seen: list[int] = []
            for role in ROLES:
                held = table.held(role, *columns)
                low, high, many = (int(each[0]) for each in (held.low, held.high, held.many))
                ranks = range(low, high + 1) if many else range(0)
                assert many == len(ranks)
                seen += ranks
                for rank in ranks:
                    assert [int(each[0]) for each in held.blocks] == list(summed(blocks[rank]))
                    for layers_each in (0, 1, 2, 5):
                        found = held.recomputed(np.array([layers_each]))
                        expected = recomputed(blocks[rank], 2, layers_each)
                        assert [int(each[0]) for each in found] == list(expected)
            assert seen == list(range(pp))


def test_what_is_asked_later_joins_what_is_known() -> None:
    """In any order, with more virtual chunks than before."""
    placements = Placements(model_of(61, 3))
    known, fresh = RankTable(placements, len(INNER)), RankTable(placements, len(INNER))
    asked = [(8, 1, 1), (4, 4, 0), (16, 2, 0), (2, 8, 1), (4, 4, 1)]
    for one in asked:
        known.held(ROLES[1], *(np.array([each]) for each in one))
    columns = np.array([*asked[::-1], (5, 3, 0)]).T
    for role in ROLES:
        first, second = known.held(role, *columns), fresh.held(role, *columns)
        assert [each.tolist() for each in first.blocks] == [each.tolist() for each in second.blocks]


@pytest.mark.parametrize("target", ["megatron", "torchtitan"])
def test_a_row_costs_what_all_ranks_of_its_placement_cost(target: str) -> None:
    """By role as rank by rank, of layouts of a model with leading dense layers and experts."""
    model = {**LATENT, "layers": 9, **({} if target == "megatron" else {"mtp_layers": 0})}
    job = job_of(target=target, model=model)
    swept = sweep(Space(Case(job, target_of(job))))
    for row in np.linspace(0, swept.space.rows - 1, 150).astype(int):
        estimate = estimate_layout(swept.space.case, swept.decisions(int(row)))
        assert round(estimate.step_seconds * 1e9) == int(swept.prices.step_ns[row])
        assert estimate.memory_bytes == int(swept.prices.memory_kib[row]) * 1024


def test_the_largest_model_is_placed_on_every_pipeline() -> None:
    """10,000 layers on up to 10,002 chunks, which one by one are 50 million."""
    model = model_of(10_000, None)
    chunks = np.arange(1, 10_003)
    runs = even_runs(10_000, chunks, head_weight(model), False)
    inner = np.maximum(chunks - 2, 0)
    placed = runs.first + inner * (runs.more - 1) + runs.longer + np.where(chunks > 1, runs.last, 0)
    assert (placed == 10_000).all()
    one = split(model, 37, 8)
    assert one == ranks_of(model, placed_one_by_one(10_000, 296, head_weight(model), False), 37)
