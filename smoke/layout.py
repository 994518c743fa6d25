"""A layout -> layouts for a few processes that keep as many of its degrees as possible, best first."""

from collections.abc import Iterator
from itertools import product
from math import prod

from ..compiler.plan import Layout
from ..compiler.target import divisors

#: Degrees whose product is the number of processes, the most important to exercise first.
WORLD = ("pp", "tp", "dp_shard", "cp", "dp_replicate")
#: Micro-batches per pipeline stage, and micro-batches without a pipeline.
ROUNDS, ACCUMULATED = 2, 2


def cuts(layout: Layout, processes: int) -> list[Layout]:
    """Layouts whose degrees divide those of `layout`: first those that keep the most degrees above 1, then
    those of the most processes."""
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
    """Layouts with these degrees; ZeRO stage, ep and etp as in `layout` first, then other values."""
    world = dict(zip(WORLD, degrees, strict=True))
    gpus = prod(degrees)
    pipelined = world["pp"] > 1
    least = ROUNDS * world["pp"] if pipelined else ACCUMULATED
    kept = layout.model_dump() | world
    kept |= {
        "nodes": 1,
        "vpp": min(layout.vpp, 2) if pipelined else 1,
        "order": layout.order if pipelined else 0,
        # Context parallelism makes sequences long, so one at a time.
        "micro_batch": min(layout.micro_batch, 2 if world["cp"] == 1 else 1),
        "microbatches": min(layout.microbatches, least) if not pipelined else least,
        "recompute_layers": min(layout.recompute_layers, 1),
        # hpz shards within a node, and there is one node.
        "hpz": 1,
    }
    zeros = sorted(range(4), key=lambda zero: (zero != layout.zero, -zero))
    experts = sorted(divisors(layout.ep, gpus), reverse=True)
    for zero, ep in product(zeros, experts):
        for etp in dict.fromkeys((min(layout.etp, world["tp"]), world["tp"], 1)):
            yield Layout(**kept | {"zero": zero, "ep": ep, "etp": etp})
