"""Even placements in closed form: the same chunks, rank by rank, as placing layers one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parc.compiler.case import Case
from parc.compiler.pipeline.even_chunks import ROLES, even_runs
from parc.compiler.pipeline.even_placements import EvenPlacements
from parc.compiler.pipeline.even_split import (
    Split,
    head_weight,
    ranks_of,
    recomputed,
    split,
    summed,
)
from parc.compiler.pipeline.rank_load import COMMON, EXPERTS, IN_FLIGHT, placed_load
from parc.compiler.search.space import Space
from parc.compiler.variables import DERIVED, ORDER
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


def ranks_of_role(placement: Split, role: str) -> list[int]:
    last = len(placement.blocks) - 1
    if role != "middle" or last < 2:
        return [0] if role == "first" else [last]
    return list(range(1, last))


def model_of(layers: int, dense_layers: int | None) -> Model:
    base = example("llama3_405b" if dense_layers is None else "deepseek_v3").model
    return base.model_copy(
        update={
            "layers": layers,
            **({} if dense_layers is None else {"dense_layers": dense_layers}),
        }
    )


@pytest.mark.parametrize("dense_layers", [None, 0, 1, 3, 7])
@pytest.mark.parametrize("layers", [8, 13, 31, 61])
@pytest.mark.parametrize("v_shaped", [False, True])
def test_ranks_hold_and_wait_for_what_their_chunks_say(
    v_shaped: bool, layers: int, dense_layers: int | None
) -> None:
    """Of the ranks between the ends each largest value, whatever it is of."""
    model = model_of(layers, dense_layers)
    known = EvenPlacements(model, v_shaped)
    pairs = [
        (pp, vpp)
        for pp, vpp in product((1, 2, 3, 4, 5, 7, 16, 31), (1, 2, 3, 5, 8, 20))
        if pp * vpp <= (layers + 2 if pp > 1 else 1)
    ]
    pp, vpp = np.array(pairs).T
    for role, of_chunk in product(ROLES, (0, 1, 2, 5)):
        held, paced = known.held(role, pp, vpp), known.paced(role, pp, vpp)
        of_chunks = np.full((len(pairs), 1, 1), of_chunk)
        for row, pair in enumerate(pairs):
            placement = split(model, *pair, v_shaped)
            ranks = ranks_of_role(placement, role)
            expected = [
                {placement.held(rank) for rank in ranks},
                {summed(placement.paced(rank)) for rank in ranks},
                {recomputed(placement.blocks[rank], 2, of_chunk) for rank in ranks},
                {recomputed(placement.paced(rank), 2, of_chunk) for rank in ranks},
            ]
            found = [
                held.blocks,
                paced.blocks,
                held.recomputed(of_chunks),
                paced.recomputed(of_chunks),
            ]
            for want, (dense, moe) in zip(expected, found, strict=True):
                assert set(zip(dense[row].tolist(), moe[row].tolist(), strict=True)) == want


def test_what_is_asked_later_joins_what_is_known() -> None:
    """In any order, with more virtual chunks than before."""
    model = model_of(61, 3)
    known, fresh = EvenPlacements(model), EvenPlacements(model)
    for pp, vpp in ((8, 1), (4, 4), (16, 2), (2, 12), (4, 4)):
        known.held("middle", np.array([pp]), np.array([vpp]))
    pairs = np.array([(16, 2), (8, 1), (2, 12), (5, 3), (4, 4)]).T
    for role in ROLES:
        assert [each.tolist() for each in known.paced(role, *pairs).blocks] == [
            each.tolist() for each in fresh.paced(role, *pairs).blocks
        ]


@pytest.mark.parametrize("target", ["megatron", "torchtitan"])
def test_roles_have_the_parameters_of_their_fullest_rank(target: str) -> None:
    """By role as by rank, of every layout of a model with leading dense layers and experts."""
    model = {**LATENT, "layers": 9, **({} if target == "megatron" else {"mtp_layers": 0})}
    job = job_of(target=target, model=model)
    space = Space(Case(job, target_of(job)))
    columns = space.layouts
    for row in np.linspace(0, space.size - 1, 60).astype(int):
        at = {name: int(columns[name][row]) for name in (*ORDER, *DERIVED)}
        placement = split(job.model, at["pp"], at["vpp"])
        for role in ROLES:
            loads = [
                placed_load(space.case, at, placement, rank)
                for rank in ranks_of_role(placement, role)
            ]
            one = {name: np.array([value]) for name, value in at.items()}
            found = [int(each[role](space.case, one)[0]) for each in (COMMON, EXPERTS, IN_FLIGHT)]
            assert found == [
                max(getattr(load, name) for load in loads)
                for name in ("common", "experts", "flight")
            ]


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
