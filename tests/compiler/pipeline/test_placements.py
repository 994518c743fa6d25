"""Layers on pipeline stages: the even placement, and the others that the search chooses from."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler import risk
from parc.compiler.case import Case
from parc.compiler.headroom import ceiling_bytes
from parc.compiler.pipeline.even_split import (
    Split,
    chunk_layers,
    ranks_of,
    recomputed,
    split,
)
from parc.compiler.pipeline.placements import Placements
from parc.compiler.pipeline.rank_load import RECOMPUTING
from parc.compiler.pricing.estimate import decisions, estimate_layout
from parc.compiler.pricing.quantities import recomputed_layers
from parc.compiler.search.complete_layout import complete
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import sweep
from parc.compiler.variables import ORDER, PLACE
from tests.support.solver_and_sweep import DENSE, LATENT, answered, example, job_of, target_of

MEGATRON = BACKENDS["megatron"].target


def in_model_order(placement: Split) -> list[int]:
    """Layers of each chunk; chunk k is on rank k % pp."""
    pp, vpp = len(placement.chunks), len(placement.chunks[0])
    return [placement.chunks[chunk % pp][chunk // pp] for chunk in range(pp * vpp)]


SPLITS = tuple(
    (layers, chunks, weight)
    for layers, chunks, weight in product(
        (1, 2, 5, 8, 31, 61, 126), (1, 2, 3, 4, 7, 16, 32), (0.0, 0.3, 1.0, 2.6)
    )
    if chunks <= layers + 2
)


@pytest.mark.parametrize(("layers", "chunks", "weight"), SPLITS)
def test_the_even_placement(layers: int, chunks: int, weight: float) -> None:
    counts = chunk_layers(layers, chunks, weight)
    assert len(counts) == chunks
    assert sum(counts) == layers
    assert all(count >= 1 for count in counts[1:-1])
    assert min(counts) >= 0


@pytest.mark.parametrize(("layers", "chunks", "weight"), SPLITS)
def test_no_placement_has_a_lighter_heaviest_chunk(layers: int, chunks: int, weight: float) -> None:
    """A limit below the heaviest chunk, the head counted as `weight` layers, does not hold all layers."""
    counts = chunk_layers(layers, chunks, weight)
    if chunks == 1:
        return
    heaviest = max(max(counts[:-1]), counts[-1] + weight if counts[-1] else 0)
    below = heaviest - 1e-6
    capacity = (chunks - 1) * int(below) + max(0, int(below - weight + 1e-9))
    assert capacity < layers


def test_llama3_405b_loses_a_layer_at_both_ends() -> None:
    """126 layers on 16 stages (arXiv 2407.21783, 3.3.2)."""
    assert split(example("llama3_405b").model, 16, 1).chunks == ((7,), *[(8,)] * 14, (7,))


def test_kinds_of_blocks_are_counted() -> None:
    """DeepSeek-V3: three dense layers in front of 58 with experts."""
    placement = split(example("deepseek_v3").model, 8, 2)
    blocks = [placement.held(rank) for rank in range(8)]
    assert sum(dense for dense, _ in blocks) == 3
    assert sum(moe for _, moe in blocks) == 58
    assert blocks[0][0] == 3


@pytest.mark.parametrize(("pp", "vpp"), [(1, 1), (2, 3), (3, 2), (4, 1), (6, 2)])
@pytest.mark.parametrize("dense_layers", [0, 1, 3, 7])
def test_each_layer_has_its_kind(dense_layers: int, pp: int, vpp: int) -> None:
    """Layer by layer: a layer is dense before `dense_layers`; chunk k is on rank k % pp."""
    base = example("deepseek_v3").model
    model = base.model_copy(update={"layers": 17, "dense_layers": dense_layers})
    counts = chunk_layers(17, pp * vpp, 1.3, light_first=dense_layers > 0)
    chunk_of = [chunk for chunk, count in enumerate(counts) for _ in range(count)]
    dense, moe = Counter(chunk_of[:dense_layers]), Counter(chunk_of[dense_layers:])
    placement = ranks_of(model, counts, pp)
    for rank, chunks in enumerate(placement.blocks):
        mine = range(rank, pp * vpp, pp)
        assert chunks == tuple((dense[chunk], moe[chunk]) for chunk in mine)


def test_full_recomputation_counts_from_the_front_of_each_chunk() -> None:
    chunks = ((3, 1), (0, 4))
    assert recomputed(chunks, 1, 2) == (0, 0)
    assert recomputed(chunks, 2, 0) == (3, 5)
    assert recomputed(chunks, 2, 2) == (2, 2)
    assert recomputed(chunks, 2, 4) == (3, 5)


@pytest.mark.parametrize("name", ["llama3_405b", "deepseek_v3"])
def test_recomputed_layers_of_all_ranks_make_the_total(name: str) -> None:
    case = Case(example(name), MEGATRON)
    for pp, vpp, recompute, of_chunk in product((1, 4, 8), (1, 3), (0, 1, 2), (0, 1, 2, 5)):
        for place in range(min(3, case.placements.count(pp, vpp))):
            blocks = case.placements.split(pp, vpp, place).blocks if pp > 1 or vpp == 1 else ()
            by_rank = [sum(recomputed(rank, recompute, of_chunk)) for rank in blocks]
            columns = dict(zip(RECOMPUTING, (pp, vpp, place, recompute, of_chunk), strict=True))
            total = recomputed_layers(case, {key: np.array([it]) for key, it in columns.items()})
            assert total.tolist() == [sum(by_rank)]


PIPELINES = ((2, 1), (3, 1), (4, 1), (4, 2), (6, 2), (8, 1), (16, 1))


@pytest.mark.parametrize("layers", [7, 13, 32, 61, 80, 126])
@pytest.mark.parametrize(("name", "dense_layers"), [("llama3_405b", None), ("deepseek_v3", 3)])
def test_placements_differ_and_hold_all_layers(
    name: str, dense_layers: int | None, layers: int
) -> None:
    changed = {"layers": layers} | ({} if dense_layers is None else {"dense_layers": dense_layers})
    model = example(name).model.model_copy(update=changed)
    placements = Placements(model)
    for pp, vpp in PIPELINES:
        if pp * vpp > layers + 2:
            continue
        splits = [placements.split(pp, vpp, place) for place in range(placements.count(pp, vpp))]
        assert len(set(splits)) == len(splits)
        for place, found in enumerate(splits):
            counts = in_model_order(found)
            assert sum(counts) == layers and all(count >= 1 for count in counts[1:-1])
            assert sum(dense for rank in found.blocks for dense, _ in rank) == (
                layers if dense_layers is None else min(dense_layers, layers)
            )
            assert placements.number(pp, vpp, counts) == place


def priced_placements(case: Case, layout: dict[str, int]) -> list[tuple[int, int]]:
    """Nanoseconds of a step and bytes of the fullest rank of a layout in each of its placements."""
    count = case.placements.count(layout["pp"], layout["vpp"])
    found = [estimate_layout(case, {**layout, PLACE: place}) for place in range(count)]
    return [(round(each.step_seconds * 1e9), each.memory_bytes) for each in found]


@pytest.mark.parametrize("layers", [7, 8, 11, 13])
@pytest.mark.parametrize("model", [DENSE, LATENT], ids=["dense", "latent"])
def test_a_layout_has_the_best_of_its_placements_that_fits(
    layers: int, model: dict[str, int]
) -> None:
    """One by one: the fastest within the limit, of these the one that needs the least memory."""
    job = job_of(
        "require pp >= 2; require memory <= 40%; within = 0%", model={**model, "layers": layers}
    )
    swept = sweep(Space(Case(job, target_of(job))))
    rows = swept.by_objective
    assert len(rows)
    for row in rows[:: max(1, len(rows) // 6)]:
        case, layout = swept.space.case, swept.decisions(int(row))
        priced = priced_placements(case, layout)
        fitting = [each for each in priced if each[1] <= ceiling_bytes(case)]
        assert priced[layout[PLACE]] == min(fitting)
        assert complete(case, {name: layout[name] for name in ORDER}) == layout


def test_a_heavy_head_takes_layers_from_the_last_rank() -> None:
    """With 256 K words and narrow blocks the head weighs as much as several layers."""
    case = Case(job_of(model={**DENSE, "layers": 24, "vocab": 256_000}), MEGATRON)
    layout = complete(case, {"pp": 4, "vpp": 1, "micro_batch": 1})
    chunks = case.placements.split(4, 1, layout[PLACE]).chunks
    assert chunks[-1][0] < min(rank[0] for rank in chunks[:-1])


UNEVEN = {**DENSE, "layers": 13, "vocab": 128_000}
NARROW = {"tp": 8, "pp": 2, "vpp": 1, "micro_batch": 4, "recompute": 2, "recompute_layers": 0}


@pytest.mark.parametrize("condition", ["require memory <= {} B", "forbid memory > {} B"])
def test_a_condition_on_memory_takes_another_placement(condition: str) -> None:
    """The fastest placement does not fit into a limit: a slower one does, and the layout is not refused."""
    free = Case(job_of(model=UNEVEN), MEGATRON)
    layout = complete(free, NARROW)
    priced = priced_placements(free, layout)
    fastest = min(priced)
    smaller = [each for each in priced if each[1] < fastest[1]]
    assert priced[layout[PLACE]] == fastest and smaller
    tight = Case(job_of(condition.format(fastest[1] - 1), model=UNEVEN), MEGATRON)
    assert priced[complete(tight, NARROW)[PLACE]] == min(smaller)
    spoken = Case(job_of("require memory >= 1 GiB", model=UNEVEN), MEGATRON)
    assert complete(spoken, NARROW)[PLACE] == layout[PLACE]


@pytest.mark.parametrize(
    ("condition", "bound"),
    [
        ("require memory <= 4 GiB", 4 * 2**30),
        ("require memory < 4 GiB", 4 * 2**30 - 1),
        ("forbid memory > 4 GiB", 4 * 2**30),
        ("forbid memory >= 4 GiB", 4 * 2**30 - 1),
        ("require memory <= 50%", 40 * 2**30),
        ("prefer memory <= 4 GiB", int(risk.bytes_at(0.05, 80 * 2**30))),
        ("require risk <= 50%", 80 * 2**30),
        ("require risk <= 99%", 80 * 2**30),
        ("forbid risk > 10%", int(risk.bytes_at(0.1, 80 * 2**30))),
        ("require memory >= 4 GiB", 80 * 2**30),
        ("require memory <= tp * 1 GiB", 80 * 2**30),
    ],
)
def test_the_ceiling_is_the_lowest_limit(condition: str, bound: int) -> None:
    assert ceiling_bytes(Case(job_of(condition), MEGATRON)) == bound


def test_without_a_pipeline_there_is_nothing_to_place() -> None:
    found = answered("gpt_125m", "megatron")
    assert found.case.placements.count(1, 1) == 1
    assert found.case.placements.split(1, 1, 0).chunks == ((12,),)


def test_an_estimate_shows_its_placement() -> None:
    found = answered("llama2_7b_pcie", "megatron")
    layout = complete(found.case, {"pp": 2})
    placement = found.case.placements.split(2, layout["vpp"], layout[PLACE])
    estimate = estimate_layout(found.case, layout)
    assert tuple(stage.layers for stage in estimate.stages) == placement.chunks
    assert [stage.embedding for stage in estimate.stages] == [
        stage.index == 0 for stage in estimate.stages
    ]
    assert [stage.head for stage in estimate.stages][-1]
    assert decisions(found.case, estimate) == layout
