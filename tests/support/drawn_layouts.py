"""A job on a target -> layouts of all values that `estimate` takes: drawn ones, neighbours of one, or all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from parc.compiler.algebra import Integers
from parc.compiler.case import Case
from parc.compiler.plan import Layout
from parc.compiler.rules.validity import predicates
from parc.compiler.target import divisors, holds
from parc.compiler.variables import DERIVED, LARGEST, NEUTRAL, ORDER, PLACE, with_derived

Decided = dict[str, int]
Columns = dict[str, Integers]
#: Variables of which a target's own rules leave few values: `estimate` refuses all others.
LISTED = ("recompute", "order", "offload")
#: How often degrees are drawn before the batch need not divide over their replicas.
DEALS = 12


def all_values(case: Case) -> dict[str, tuple[int, ...]]:
    """Every value of each decision that some layout may have, whatever the search looks at."""
    job = case.job
    gpus = [nodes * job.cluster.gpus_per_node for nodes in job.cluster.nodes]
    degrees = tuple(sorted({each for count in gpus for each in divisors(count)}))
    stages = tuple(range(1, job.model.layers + 3))
    every: dict[str, Sequence[int]] = {
        "nodes": job.cluster.nodes,
        "pp": [each for each in degrees if each in stages],
        "vpp": [each for each in stages if each <= len(stages) / 2] or [1],
        "zero": _stages(case),
        "micro_batch": divisors(job.train.global_batch),
        "recompute_layers": range(job.model.layers),
    }
    every |= {name: sorted({NEUTRAL[name], *case.domains.get(name, ())}) for name in LISTED}
    decided = {"nodes", *case.domains}
    return {
        name: _alone(case, name, every.get(name, degrees)) if name in decided else (NEUTRAL[name],)
        for name in ORDER
    }


def _stages(case: Case) -> Sequence[int]:
    """Every stage of ZeRO, but for a target that always shards: `estimate` refuses the others."""
    offered = case.domains["zero"]
    return range(LARGEST["zero"] + 1) if 0 in offered else offered


def _alone(case: Case, name: str, values: Sequence[int]) -> tuple[int, ...]:
    """The values that no rule of the variable alone forbids."""
    columns = {name: np.asarray(values, dtype=np.int64)}
    rules = [rule for rule in predicates(case.target) if rule.of == (name,)]
    return tuple(
        value
        for place, value in enumerate(values)
        if all(
            np.broadcast_to(holds(rule, case.job, columns), len(values))[place] for rule in rules
        )
    )


def legal(case: Case, columns: Mapping[str, Integers]) -> Columns:
    """The rows that the framework's rules allow, with every derived variable."""
    found = with_derived(case.job, columns)
    kept = np.ones(len(found["tp"]), dtype=bool)
    for rule in predicates(case.target):
        kept &= np.broadcast_to(np.asarray(holds(rule, case.job, found), dtype=bool), kept.shape)
    return {name: column[kept] for name, column in found.items()}


def drawn_layouts(case: Case, source: random.Random, tries: int) -> Columns:
    """Legal layouts among so many draws, each decision from all of its values."""
    every = all_values(case)
    rows = [_drawn(case, every, source) for _ in range(tries)]
    return _distinct(case, rows)


def neighbours(case: Case, of: Layout) -> Columns:
    """The legal layouts that differ from one in one or two decisions."""
    every = all_values(case)
    given = {name: int(getattr(of, name)) for name in ORDER}
    rows = [given | {name: value} for name in ORDER for value in every[name]]
    rows += [
        given | {one: first, other: second}
        for one, other in combinations(ORDER, 2)
        for first in every[one]
        for second in every[other]
    ]
    return _distinct(case, rows)


def every_layout(case: Case) -> Columns:
    """All legal layouts: decisions joined one by one, each rule as soon as its variables are there."""
    every, found = all_values(case), {"nodes": np.asarray(case.job.cluster.nodes, dtype=np.int64)}
    checked = set()
    for name in ORDER[1:]:
        values = np.asarray(every[name], dtype=np.int64)
        count = len(found["nodes"])
        found = {other: np.repeat(column, len(values)) for other, column in found.items()}
        found[name] = np.tile(values, count)
        _derive(case, found)
        for rule in predicates(case.target):
            if rule not in checked and set(rule.of) <= found.keys():
                checked.add(rule)
                kept = np.broadcast_to(holds(rule, case.job, found), found[name].shape).astype(bool)
                found = {other: column[kept] for other, column in found.items()}
    return found


def in_every_placement(case: Case, columns: Mapping[str, Integers]) -> tuple[Columns, Integers]:
    """Each layout in all placements of its layers, and of which row each is."""
    counts = case.placements.counts(columns["pp"], columns["vpp"])
    rows = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return {**{name: column[rows] for name, column in columns.items()}, PLACE: place}, rows


def rows_of(columns: Mapping[str, Integers], rows: Sequence[int] | Integers) -> Iterator[Decided]:
    """The decisions of some rows."""
    for row in rows:
        yield {name: int(columns[name][row]) for name in ORDER}


def _derive(case: Case, columns: Columns) -> None:
    for name, derived in DERIVED.items():
        if name not in columns and all(source in columns for source in derived.of):
            value = derived.value(case.job, **{each: columns[each] for each in derived.of})
            columns[name] = np.asarray(value, dtype=np.int64)


def _drawn(case: Case, every: Mapping[str, Sequence[int]], source: random.Random) -> Decided:
    """A layout whose degrees divide what is left of the GPUs, as most others are illegal."""
    row = {name: source.choice(values) for name, values in every.items()}
    gpus = row["nodes"] * case.job.cluster.gpus_per_node
    for _ in range(DEALS):
        left = gpus
        for name in source.sample(("tp", "pp", "cp"), 3):
            row[name] = source.choice([each for each in every[name] if left % each == 0])
            left //= row[name]
        if case.job.train.global_batch % left == 0:
            break
    row["dp_shard"] = source.choice((1, left, source.choice(divisors(left))))
    if row["dp_shard"] not in every["dp_shard"]:
        row["dp_shard"] = 1
    fed = max(1, case.job.train.global_batch // left)
    row["micro_batch"] = source.choice([each for each in every["micro_batch"] if each <= fed])
    row["etp"] = source.choice((1, row["tp"])) if len(every["etp"]) > 1 else 1
    for name in ("vpp", "ep", "offload", "hpz", "recompute_layers"):
        if source.random() < 0.5:
            row[name] = NEUTRAL[name]
    if row["recompute_layers"]:
        row["recompute"] = 2
    return row


def _distinct(case: Case, rows: Sequence[Decided]) -> Columns:
    table = np.array([[row[name] for name in ORDER] for row in rows], dtype=np.int64)
    table = np.unique(table, axis=0)
    return legal(case, {name: table[:, index].copy() for index, name in enumerate(ORDER)})
