"""A layout -> layouts of at most a few processes that keep as much of it as they can, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from ..compiler.plan import Layout
from ..compiler.target import divisors

#: Degrees that multiply to the number of processes, the most telling first.
WORLD = ("pp", "tp", "dp_shard", "cp", "dp_replicate")
#: Micro-batches of a pipeline for each of its stages, and those of no pipeline.
ROUNDS, ACCUMULATED = 2, 2


def cuts(layout: Layout, processes: int) -> list[Layout]:
    """Every degree is a divisor of its own: first those that keep the most degrees above 1, then the
    largest ones."""
    ways = [divisors(getattr(layout, name), processes) for name in WORLD]
    worlds = [degrees for degrees in product(*ways) if prod(degrees) <= processes]
    ranked = sorted(worlds, key=lambda degrees: _rank(layout, degrees))
    return [small for degrees in ranked for small in _filled(layout, degrees)]


def _rank(layout: Layout, degrees: tuple[int, ...]) -> tuple[object, ...]:
    kept = [
        degree > 1 or getattr(layout, name) == 1
        for name, degree in zip(WORLD, degrees, strict=True)
    ]
    return (-sum(kept), [not each for each in kept], -prod(degrees), [-each for each in degrees])


def _filled(layout: Layout, degrees: tuple[int, ...]) -> Iterator[Layout]:
    """The rest of a layout around its degrees; what a smaller world cannot keep has second choices."""
    world = dict(zip(WORLD, degrees, strict=True))
    gpus = prod(degrees)
    pipelined = world["pp"] > 1
    least = ROUNDS * world["pp"] if pipelined else ACCUMULATED
    kept = layout.model_dump() | world
    kept |= {
        "nodes": 1,
        "vpp": min(layout.vpp, 2) if pipelined else 1,
        # Sequences that are cut are long, so one at a time.
        "micro_batch": min(layout.micro_batch, 2 if world["cp"] == 1 else 1),
        "microbatches": min(layout.microbatches, least) if not pipelined else least,
        "recompute_layers": min(layout.recompute_layers, 1),
        # It divides over the ranks of a node, and here is one node.
        "hpz": 1,
    }
    zeros = sorted(range(4), key=lambda zero: (zero != layout.zero, -zero))
    experts = sorted(divisors(layout.ep, gpus), reverse=True)
    for zero, ep in product(zeros, experts):
        for etp in dict.fromkeys((min(layout.etp, world["tp"]), world["tp"], 1)):
            yield Layout(**kept | {"zero": zero, "ep": ep, "etp": etp})
