"""The space joins exactly the layouts that break no rule, and knows which rules left something out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from parc.compiler.case import Case
from parc.compiler.rules.candidate_degrees import divisors_of_gpus
from parc.compiler.rules.validity import BATCH, REPLICAS, SEQUENCE, WORLD
from parc.compiler.search.best_first import empty
from parc.compiler.search.bounds import LEVELS
from parc.compiler.search.columns import distinct, quotient_pairs
from parc.compiler.search.explain import clashing
from parc.compiler.search.space import Space
from parc.compiler.target import Predicate, divisors, holds
from parc.compiler.variables import with_derived
from tests.support.solver_and_sweep import MOE, TARGETS, Parts, job_of, target_of

SHORT = {"seq_len": 1024, "global_batch": 24, "steps": 9}
JOBS: dict[str, Parts] = {
    "dense": {"cluster": {"nodes": "1..3"}, "train": SHORT},
    "experts": {"model": MOE, "cluster": {"nodes": 3}, "train": SHORT},
}
DEGREES = ("nodes", "tp", "pp", "cp")


def space_of(name: str, target: str) -> Space:
    parts: Parts = {**JOBS[name], "target": target}
    job = job_of("maximize mfu", **parts)
    return Space(Case(job, target_of(job)))


def rows(columns: dict[str, np.ndarray], names: tuple[str, ...]) -> list[tuple[int, ...]]:
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", JOBS)
def test_degrees_join_as_every_combination_that_keeps_the_rules(name: str, target: str) -> None:
    space = space_of(name, target)
    every = itertools.product(*(space.domains[each] for each in DEGREES))
    columns = dict(zip(DEGREES, np.array(list(every), dtype=np.int64).T, strict=True))
    columns["gpus"] = columns["nodes"] * space.job.cluster.gpus_per_node
    kept = np.ones(len(columns["nodes"]), dtype=bool)
    for rule in space.rules:
        if set(rule.of) <= columns.keys():
            kept &= np.broadcast_to(holds(rule, space.job, columns), kept.shape)
    columns["dp"] = columns["gpus"] // (columns["tp"] * columns["pp"] * columns["cp"])
    kept &= (columns["dp"] > 0) & (24 % np.maximum(columns["dp"], 1) == 0)
    wanted = rows({key: column[kept] for key, column in columns.items()}, DEGREES)
    found = space.join(DEGREES)
    assert rows(found, DEGREES) == wanted
    assert found["dp"].tolist() == columns["dp"][kept].tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_the_order_in_which_degrees_join_makes_no_difference(target: str) -> None:
    space = space_of("dense", target)
    usual = space.join(DEGREES)
    other = space.join(("cp", "pp", "nodes", "tp"))
    assert sorted(rows(usual, DEGREES)) == sorted(rows(other, DEGREES))


@pytest.mark.parametrize("target", TARGETS)
def test_no_layout_of_a_space_breaks_a_rule(target: str) -> None:
    space = space_of("dense", target)
    columns = with_derived(space.job, space.layouts)
    assert space.size
    for rule in space.rules:
        assert np.all(holds(rule, space.job, columns)), rule.name


def test_without_the_rule_of_the_world_degrees_need_not_divide_the_gpus() -> None:
    space = space_of("dense", "torchtitan")
    free = replace(space, without=frozenset({WORLD}))
    assert len(free.join(("nodes", "tp", "pp"))["tp"]) > len(
        space.join(("nodes", "tp", "pp"))["tp"]
    )


def test_a_bounded_extension_is_the_whole_one_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_of("dense", "megatron")
    before = space.join(LEVELS[0][:-1])
    whole = space.extend(before, ["micro_batch"])
    count = len(whole["nodes"])
    monkeypatch.setattr("parc.compiler.search.space.PAIRS", 8)
    monkeypatch.setattr("parc.compiler.search.space.ROWS", 2)
    found = space.extend_to(before, "micro_batch", count)
    assert found is not None
    assert {name: column.tolist() for name, column in found.items()} == {
        name: column.tolist() for name, column in whole.items()
    }
    assert space.extend_to(before, "micro_batch", count - 1) is None


def test_only_rules_that_bite_can_clash() -> None:
    """7 sequences on 3 nodes: the batch divides into 1 or 7 replicas, and tp and pp take powers of two."""
    parts: Parts = {
        "model": {**MOE, "layers": 1},
        "cluster": {"nodes": 3},
        "train": {**SHORT, "global_batch": 7},
        "target": "torchtitan",
    }
    job = job_of("maximize mfu", **parts)
    space = Space(Case(job, target_of(job)))
    assert empty(space)
    clash = clashing(space)
    assert clash and set(clash) <= set(space.rules)
    assert empty(replace(space, without=frozenset(space.rules) - frozenset(clash)))
    for rule in clash:
        fewer = frozenset(clash) - {rule}
        assert not empty(replace(space, without=frozenset(space.rules) - fewer))


@pytest.mark.parametrize(("nodes", "gpus"), [(1, 8), (12, 8), (995_905, 1024), (64, 6)])
def test_divisors_of_gpus_are_all_of_them(nodes: int, gpus: int) -> None:
    assert tuple(divisors_of_gpus(nodes, gpus).tolist()) == divisors(nodes * gpus)


@pytest.mark.parametrize("seed", range(4))
def test_quotients_are_the_candidates_that_leave_an_allowed_divisor(seed: int) -> None:
    chance = np.random.default_rng(seed)
    left = chance.integers(1, 5000, 300)
    allowed = np.unique(chance.integers(1, 60, 9))
    domain = np.unique(chance.integers(1, 400, 80))
    parts = list(quotient_pairs(left, allowed, domain, 50))
    assert len(parts) > 1
    found = [pair for row, way in parts for pair in zip(row.tolist(), way.tolist(), strict=True)]
    assert found == [
        (row, way)
        for row, whole in enumerate(left.tolist())
        for way, degree in enumerate(domain.tolist())
        if whole % degree == 0 and whole // degree in allowed.tolist()
    ]


@pytest.mark.parametrize("target", ["megatron", "torchtitan"])
@pytest.mark.parametrize("left_out", [(), (BATCH,), (REPLICAS,)])
def test_the_last_degree_by_what_dp_may_be_gives_the_same_rows(
    target: str, left_out: tuple[Predicate, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """480 GPUs have 24 divisors, and dp may be 1, 2, or where the batch does not say so, 4."""
    few = {**SHORT, "global_batch": 2}
    job = job_of("maximize mfu", cluster={"nodes": "59..60"}, train=few, target=target)
    space = Space(Case(job, target_of(job)))
    of_parts = (rule for rule in space.rules if rule.code == SEQUENCE.code)
    space = replace(space, without=frozenset((*of_parts, *left_out)))
    names = (*DEGREES, "zero", "dp_shard")
    by_quotients = space.join(names)
    tried: list[object] = []
    monkeypatch.setattr(Space, "_products", None)
    monkeypatch.setattr(Space, "_data_parallel", None)
    monkeypatch.setattr("parc.compiler.search.space.quotient_pairs", tried.append)
    by_divisors = replace(space).join(names)
    assert not tried and len(by_divisors["dp"])
    assert rows(by_quotients, (*names, "dp")) == rows(by_divisors, (*names, "dp"))
    assert not space.biting.isdisjoint({BATCH, REPLICAS} - set(left_out))


@pytest.mark.parametrize("top", [3, 10**6, 10**12])
def test_distinct_rows_and_their_codes_give_the_rows_back(top: int) -> None:
    chance = np.random.default_rng(3)
    columns = [chance.integers(-top, top, 500), chance.integers(0, 4, 500)]
    values, code = distinct(columns)
    assert (values[code] == np.column_stack(columns)).all()
    assert len(np.unique(values, axis=0)) == len(values)
