"""Layers on pipeline stages: the even placement, and the one that is made for the chosen layout."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler import risk
from parc.compiler.case import Case
from parc.compiler.pipeline.even_split import (
    Split,
    chunk_layers,
    ranks_of,
    recomputed,
    split,
)
from parc.compiler.pricing.estimate import ceiling_bytes, estimate_layout, one_row
from parc.compiler.pricing.quantities import recomputed_total
from parc.compiler.pricing.ranks import Ranks
from parc.compiler.search.complete_layout import complete
from parc.compiler.search.space import Space
from parc.compiler.search.stage_placement import _linear, place
from parc.compiler.search.sweep import sweep
from parc.compiler.variables import ORDER
from tests.support.compiled_examples import EXAMPLES
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


def test_interleaved_ranks_wait_for_the_heaviest_chunk_of_each_index() -> None:
    """Of equally many layers those with more experts; the model's end chunks count as they are."""
    placement = Split((((2, 0), (0, 3)), ((1, 1), (0, 3)), ((1, 1), (0, 4)), ((0, 1), (0, 1))))
    assert placement.paced(0) == ((2, 0), (0, 4))
    assert placement.paced(1) == placement.paced(2) == ((1, 1), (0, 4))
    assert placement.paced(3) == ((1, 1), (0, 1))


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
        blocks = split(case.model, pp, vpp).blocks if pp > 1 or vpp == 1 else ()
        by_rank = [sum(recomputed(rank, recompute, of_chunk)) for rank in blocks]
        columns = {"pp": pp, "vpp": vpp, "recompute": recompute, "recompute_layers": of_chunk}
        total = recomputed_total(case, {key: np.array([it]) for key, it in columns.items()})
        assert total.tolist() == [sum(by_rank)]


def costs(case: Case, layout: dict[str, int], placement: Split) -> tuple[int, int]:
    """Nanoseconds of the slowest rank's micro-batch, bytes of the fullest rank."""
    ranks = Ranks(case, one_row(case, layout))
    slowest = max(sum(parts.values()) for parts in ranks.slots(placement))
    return slowest, max(stage.memory_bytes for stage in ranks.stages(placement))


def check(case: Case, layout: dict[str, int]) -> Split:
    pp, vpp = layout["pp"], layout["vpp"]
    placement, even = place(case, layout), split(case.model, pp, vpp)
    counts = in_model_order(placement)
    assert (len(placement.chunks), {len(rank) for rank in placement.chunks}) == (pp, {vpp})
    assert sum(counts) == case.model.layers
    assert all(count >= 1 for count in counts[1:-1])
    before, after = costs(case, layout, even), costs(case, layout, placement)
    assert after <= before
    assert after[1] <= max(before[1], ceiling_bytes(case))
    return placement


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_placement_is_no_worse_than_the_even_one(name: str) -> None:
    for spec in example(name).targets:
        found = answered(name, spec.name)
        check(found.case, found.layout)


@pytest.mark.parametrize("layers", [7, 8, 11, 13])
@pytest.mark.parametrize("model", [DENSE, LATENT], ids=["dense", "latent"])
def test_placements_of_small_pipelines(layers: int, model: dict[str, int]) -> None:
    job = job_of("require pp >= 2", model={**model, "layers": layers})
    space = Space(Case(job, target_of(job)))
    order = sweep(space).order
    for row in order[:: max(1, len(order) // 6)]:
        columns = {name: int(space.layouts[name][row]) for name in ORDER}
        check(space.case, columns)


def test_a_heavy_head_takes_layers_from_the_last_rank() -> None:
    """With 256 K words and narrow blocks the head weighs as much as several layers."""
    job = job_of(model={**DENSE, "layers": 24, "vocab": 256_000})
    layout = complete(Case(job, MEGATRON), {"pp": 4, "vpp": 1, "micro_batch": 1})
    placement = check(Case(job, MEGATRON), layout)
    assert placement.chunks[-1][0] < min(rank[0] for rank in placement.chunks[:-1])


def test_a_layer_more_on_the_last_rank_of_a_dense_model_costs() -> None:
    """It is dense as all others: the line that the search goes by rises there too."""
    job = job_of(model={**DENSE, "layers": 12})
    case = Case(job, MEGATRON)
    layout = complete(case, {"pp": 4, "vpp": 1, "micro_batch": 1})
    even = split(case.model, 4, 1)
    slope, _ = _linear(Ranks(case, one_row(case, layout)), even)
    assert all(value > 0 for values in slope.values() for value in values)
    assert slope["time"][-1] == slope["time"][1]


UNEVEN = {**DENSE, "layers": 13, "vocab": 128_000}
NARROW = {"tp": 8, "pp": 2, "vpp": 1, "micro_batch": 4, "recompute": 2, "recompute_layers": 0}


@pytest.mark.parametrize("condition", ["require memory <= {} B", "forbid memory > {} B"])
def test_a_faster_placement_keeps_within_the_goal(condition: str) -> None:
    """The head's weight is worth a fuller first rank, as long as the goal leaves room for it."""
    free = Case(job_of(model=UNEVEN), MEGATRON)
    layout = complete(free, NARROW)
    even = costs(free, layout, split(free.model, 2, 1))
    fuller = costs(free, layout, check(free, layout))
    assert fuller[0] < even[0] and fuller[1] > even[1]
    tight = Case(job_of(condition.format(even[1]), model=UNEVEN), MEGATRON)
    assert costs(tight, layout, check(tight, layout))[1] <= even[1]
    spoken = Case(job_of("require memory >= 1 GiB", model=UNEVEN), MEGATRON)
    assert costs(spoken, layout, place(spoken, layout))[1] <= even[1]


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
    assert place(found.case, {**found.layout, "pp": 1, "vpp": 1}).chunks == ((12,),)


def test_an_estimate_shows_its_placement() -> None:
    found = answered("llama2_7b_pcie", "megatron")
    placement = place(found.case, found.layout)
    estimate = estimate_layout(found.case, found.layout, placement)
    assert tuple(stage.layers for stage in estimate.stages) == placement.chunks
    assert [stage.embedding for stage in estimate.stages] == [
        stage.index == 0 for stage in estimate.stages
    ]
    assert [stage.head for stage in estimate.stages][-1]
