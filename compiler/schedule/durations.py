"""A layout's placement of layers -> nanoseconds of each pass by part, for every rank and chunk.

A rank's own blocks are priced by the terms of `time/step.py:slot`, which the plan's estimate is made of, and
the time of a micro-batch is divided over its passes by what the terms give each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from ..algebra import Numbers
from ..pipeline.even_split import Split, recomputed
from ..pipeline.rank_load import KINDS, Load
from ..pipeline.schedule import weight_share
from ..pricing.ranks import Ranks
from ..time import step
from .passes import BACKWARD, INPUT, WEIGHT

#: Nanoseconds by part, as `time/step.py` names them.
Parts = dict[str, int]

#: The part of the head's and of the embedding's time that is forward: a product has one of its three
#: multiplications there, a table is read once and written once.
HEAD_FORWARD, EMBEDDING_FORWARD = 1 / 3, 1 / 2


@dataclass(frozen=True)
class Passes:
    """The passes of one chunk of a rank; of the backward pass's compute, weight gradients take `weight`."""

    forward: Parts
    backward: Parts
    weight: int = 0

    def parts(self, kind: int) -> Parts:
        """Nanoseconds of a pass of a kind by part. Gradients of inputs come with all of the backward pass
        that is not a product of weight gradients."""
        if kind == WEIGHT:
            return {"compute": self.weight} if self.weight else {}
        if kind == INPUT:
            return {**self.backward, "compute": self.backward.get("compute", 0) - self.weight}
        return self.backward if kind == BACKWARD else self.forward


def rank_passes(ranks: Ranks, placement: Split, rank: int) -> list[Passes]:
    """The passes of each chunk of a rank; their parts add up to those of a micro-batch on the rank."""
    own = ranks.load(placement, rank)
    whole = step.slot(ranks.x, own)
    weights: list[dict[str, float]] = []
    for each in _chunks(ranks.x, own, placement.blocks[rank]):
        weights += _weights(ranks.x, each)
    found: list[Parts] = [{} for _ in weights]
    for part, value in whole.items():
        for parts, share in zip(found, _shares(value, part, weights), strict=True):
            if share:
                parts[part] = share
    part_of_weights = weight_share(ranks.x.case)
    return [
        Passes(forward, backward, round(part_of_weights * backward.get("compute", 0)))
        for forward, backward in zip(found[::2], found[1::2], strict=True)
    ]


def _chunks(x: Numbers, own: Load[int], blocks: Sequence[tuple[int, int]]) -> list[Load[int]]:
    """The load of a rank's time, chunk by chunk."""
    modes = x.columns["recompute"], x.columns["recompute_layers"]
    return [
        replace(
            own,
            held={kind: chunk[KINDS[kind]] for kind in own.held},
            recomputed={kind: recomputed((chunk,), *modes)[KINDS[kind]] for kind in own.held},
            first=own.first and index == 0,
            last=own.last and index == len(blocks) - 1,
        )
        for index, chunk in enumerate(blocks)
    ]


def _weights(x: Numbers, load: Load[int]) -> list[dict[str, float]]:
    """The weight of each part of a chunk's forward and of its backward pass against those of other chunks."""
    forward: dict[str, float] = {"other": 1.0}
    backward: dict[str, float] = {}
    for kind, count in step.blocks(x, load):
        once = step.layer_forward(x, kind)
        for part, both in step.layer_forward_backward(x, kind).items():
            ahead = min(once.get(part, 0), both // 2)
            _add(forward, part, count * ahead)
            _add(backward, part, count * (both - ahead))
        _add(forward, "host", count)
        _add(backward, "host", 2 * count)
    for kind, count in load.recomputed.items():
        _add(backward, "recompute", count * sum(step.layer_forward(x, kind).values()))
        _add(backward, "host", count)
    for time, share in _ends(x, load):
        _add(forward, "compute", share * time)
        _add(backward, "compute", (1 - share) * time)
    for passed in (forward, backward):
        passed["dp"] = passed.get("compute", 0.0)
    return [forward, backward]


def _ends(x: Numbers, load: Load[int]) -> list[tuple[int, float]]:
    """Nanoseconds of embedding and head where a chunk has them, and their forward part."""
    found = []
    if load.first:
        found.append((x.term(step.embedding_forward_backward), EMBEDDING_FORWARD))
    if load.last:
        found.append((x.term(step.head_forward_backward), HEAD_FORWARD))
    return found


def _shares(value: int, part: str, weights: Sequence[Mapping[str, float]]) -> list[int]:
    """`value` divided by weight; evenly where no pass has any. The shares add up to it."""
    counted = [each.get(part, 0.0) for each in weights]
    if not any(counted):
        counted = [1.0] * len(weights)
    ends = [round(value * end / sum(counted)) for end in accumulate(counted, initial=0.0)]
    return [end - begin for begin, end in pairwise([*ends[:-1], value])]


def _add(parts: dict[str, float], part: str, value: float) -> None:
    parts[part] = parts.get(part, 0.0) + value
