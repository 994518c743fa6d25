"""Layers to stages as the frameworks place them: what a measured run did, not what parc would choose."""

from __future__ import annotations

from benchmarks.accuracy.setups.setup import Setup
from parc.compiler.pipeline.even_split import Split, ranks_of, split


def placement_of(setup: Setup, vpp: int) -> Split:
    """The layers of each stage as the frameworks place them.

    Megatron-LM and torchtitan divide evenly; where only layers, embedding and head together divide,
    those count as layers (Megatron-LM --account-for-embedding-in-pipeline-split, torchtitan's module
    split). Megatron-DeepSpeed fills stages with equal shares from the first on (DeepSpeed's
    runtime/utils.py: partition_balanced).
    """
    model, pp = setup.case.model, setup.layout["pp"]
    chunks = pp * vpp
    if pp > 1 and model.layers % chunks and (model.layers + 2) % chunks == 0:
        return ranks_of(model, _without_ends(filled(model.layers + 2, chunks)), pp)
    shares = filled(model.layers, chunks)
    return ranks_of(model, shares, pp) if min(shares) else split(model, pp, vpp)


def filled(layers: int, chunks: int) -> tuple[int, ...]:
    """Layers of each chunk when each takes an equal share, rounded up, until none are left."""
    share = -(-layers // chunks)
    return tuple(max(0, min(share, layers - share * chunk)) for chunk in range(chunks))


def _without_ends(counts: tuple[int, ...]) -> tuple[int, ...]:
    return (counts[0] - 1, *counts[1:-1], counts[-1] - 1)
