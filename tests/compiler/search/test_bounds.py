"""Bounds of blocks: none is above a layout of its block, and what is left holds every layout within them."""

from __future__ import annotations

import numpy as np
import pytest

from parc.compiler.algebra import Arrays
from parc.compiler.case import Case
from parc.compiler.interval import Range
from parc.compiler.plan import Plan
from parc.compiler.search import bounds, planning
from parc.compiler.search.bounds import LEVELS, Bounds, Least, least, narrowed
from parc.compiler.search.ranges import Ranges
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept, objectives, score, sweep
from parc.compiler.time.step import step_time
from parc.dsl.diagnostics import JobError
from tests.support.solver_and_sweep import DENSE, LATENT, MOE, TARGETS, Parts, job_of, target_of

SHORT = {"seq_len": 1024, "global_batch": 8, "steps": 9}
JOBS: dict[str, Parts] = {
    "dense": {"cluster": {"nodes": "1..3"}, "train": {**SHORT, "global_batch": 48}},
    "experts": {"model": {**MOE, "layers": 14}, "cluster": {"network": "1 Gb/s"}, "train": SHORT},
    "latent": {"model": {**LATENT, "layers": 9}, "cluster": {"overlap_lost": 0.3}, "train": SHORT},
    "one micro-batch": {"cluster": {"nodes": 2}, "train": {**SHORT, "global_batch": 2}},
}
GOALS = ("maximize mfu", "minimize memory", "minimize bubble")


def swept_of(name: str, target: str, goal: str) -> Swept:
    parts: Parts = {**JOBS[name], "target": target}
    if (name, target) == ("one micro-batch", "accelerate"):
        # Data parallelism alone: a sequence for each of the 16 GPUs.
        parts = {**parts, "train": {**SHORT, "global_batch": 16}}
    job = job_of(goal, **parts)
    return sweep(Space(Case(job, target_of(job))))


def blocks_of(swept: Swept, level: int) -> tuple[Least, dict[tuple[int, ...], int]]:
    """The bounds of all blocks of a level, and the row of each by its decisions."""
    names = [name for names in LEVELS[: level + 1] for name in names]
    blocks = swept.space.join(names)
    rows = zip(*(blocks[name].tolist() for name in names), strict=True)
    return least(swept.space, blocks), {row: index for index, row in enumerate(rows)}


def decided(swept: Swept, row: int) -> tuple[int, ...]:
    return tuple(swept.decisions(row).values())


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", JOBS)
def test_no_layout_is_below_the_bounds_of_its_block(name: str, target: str, goal: str) -> None:
    swept = swept_of(name, target, goal)
    for level in range(len(LEVELS)):
        bounds, place = blocks_of(swept, level)
        names = [name for names in LEVELS[: level + 1] for name in names]
        layouts = zip(*(swept.space.layouts[name].tolist() for name in names), strict=True)
        block = np.array([place[row] for row in layouts])
        assert (score(objectives(swept.space.case)[0], swept) >= bounds.score[block]).all()
        assert (swept.prices.step_ns >= bounds.step_ns[block]).all()
        assert (swept.prices.memory_kib >= bounds.memory_kib[block]).all()
        assert (swept.prices.host_kib >= bounds.host_kib[block]).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", JOBS)
def test_what_is_left_holds_every_layout_within_the_bound(name: str, target: str) -> None:
    swept = swept_of(name, target, "maximize mfu")
    assert swept.incumbent is not None
    most = swept.incumbent.score * 11 // 10
    left = narrowed(swept.space, most)
    wanted = swept.feasible & (score(objectives(swept.space.case)[0], swept) <= most)
    within = {decided(swept, int(row)) for row in np.flatnonzero(wanted)}
    kept = sweep(left)
    assert within <= {decided(kept, row) for row in range(left.rows)}


@pytest.mark.parametrize("apart", [False, True])
def test_what_exceeds_an_open_variable_is_bounded_in_its_sum_and_apart(apart: bool) -> None:
    """In a sum that contains the limit, where `low` by itself may be above a layout's excess, and apart."""
    space = swept_of("dense", "megatron", "maximize mfu").space
    blocks = space.join(LEVELS[0])
    x, exact = Ranges(space, blocks), Arrays(space.case, space.layouts)
    x.apart = apart
    beside = x.excess_beside(x.number(3), x.variable("vpp"))
    total = (beside + x.variable("vpp")).low
    rows = zip(*(space.layouts[name].tolist() for name in LEVELS[0]), strict=True)
    keys = zip(*(blocks[name].tolist() for name in LEVELS[0]), strict=True)
    place = {row: index for index, row in enumerate(keys)}
    block = np.array([place[row] for row in rows])
    excess = exact.excess_beside(exact.number(3), exact.variable("vpp"))
    assert (excess + exact.variable("vpp") >= total[block]).all()
    assert (excess >= beside.low[block]).all() == apart


def bubble_asked_apart(goal: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the bounds of a goal's first objective are worked out for parts of a sum by themselves."""
    swept = swept_of("dense", "megatron", goal)
    found = []

    def timed(x: Ranges, times: tuple[Range, Range]) -> tuple[Range, Range]:
        found.append(x.apart)
        return step_time(x, times)

    monkeypatch.setattr(bounds, "step_time", timed)
    least(swept.space, swept.space.join(LEVELS[0]))
    return all(found) and bool(found)


@pytest.mark.parametrize("goal", GOALS)
def test_the_bubble_by_itself_is_bounded_apart(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bubble_asked_apart(goal, monkeypatch) == (goal == "minimize bubble")


def test_bounds_rule_out_most_of_a_large_space() -> None:
    """45 nodes have 24 shard groups, and a pipeline of 32 layers up to 28 placements."""
    job = job_of(
        "maximize mfu",
        target="torchtitan",
        model={**DENSE, "layers": 32, "hidden": 16384, "heads": 128, "ffn": 53248},
        cluster={"nodes": 45},
        train={"seq_len": 8192, "global_batch": 360, "steps": 1000},
    )
    swept = sweep(Space(Case(job, target_of(job))))
    assert swept.incumbent is not None and swept.space.rows > 200_000
    left = narrowed(swept.space, swept.incumbent.score)
    assert 0 < left.size < swept.space.size / 500


def test_a_layer_keeps_something_recomputed_or_not() -> None:
    """With both open, the least of each is not taken for the same layers: the bound on the memory of a deep
    model's blocks is near the least of their layouts."""
    job = job_of(
        "maximize mfu",
        model={**DENSE, "layers": 128},
        train={"seq_len": 16384, "global_batch": 8, "steps": 9},
    )
    swept = sweep(Space(Case(job, target_of(job))))
    blocks = swept.space.join(LEVELS[0])
    place = {row: index for index, row in enumerate(zip(*map(blocks.get, LEVELS[0]), strict=True))}
    layouts = zip(*map(swept.space.layouts.get, LEVELS[0]), strict=True)
    least_kib = np.full(len(place), np.iinfo(np.int64).max)
    np.minimum.at(least_kib, [place[row] for row in layouts], swept.prices.memory_kib)
    share = least(swept.space, blocks).memory_kib / least_kib
    assert share.min() > 0.15, share.min()


def test_bounds_that_nobody_asked_for_are_bounds_too() -> None:
    swept = swept_of("experts", "megatron", "maximize mfu")
    blocks = swept.space.join(LEVELS[0])
    every, some = least(swept.space, blocks), Bounds(swept.space, blocks)
    rows = np.arange(len(blocks["nodes"])) % 3 == 0
    assert (some.least.memory_kib <= every.memory_kib).all()
    some.hold(rows)
    some.time(rows)
    for name in ("score", "step_ns", "memory_kib", "host_kib"):
        partly, wholly = getattr(some.least, name), getattr(every, name)
        assert (partly[rows] == wholly[rows]).all() and (partly <= wholly).all(), name


def test_a_search_of_too_many_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: Parts = {**JOBS["dense"]}
    job = job_of("maximize mfu", **parts)
    assert isinstance(planning.plan(job, target_of(job)), Plan)
    monkeypatch.setattr("parc.compiler.search.best_first.WHOLE", 16)
    monkeypatch.setattr(bounds, "MOST_BLOCKS", 16)
    with pytest.raises(JobError) as refused:
        planning.plan(job, target_of(job))
    (found,) = refused.value.diagnostics
    assert found.code == "PAR154" and "over 16 parts" in found.message
    assert found.help is not None and "fewer counts of nodes" in found.help
