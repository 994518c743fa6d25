"""Two priced layouts -> what differs between them, decision by decision and term by term."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan import Estimate
from ..variables import ORDER

#: Quantities that count every GPU: steps of layouts on different numbers of GPUs are compared in GPU-seconds.
PER_GPU = ("mfu", "cost", "energy", "gpus", "nodes")


@dataclass(frozen=True)
class Term:
    """One term of both layouts, in seconds of a step or bytes of the fullest rank."""

    name: str
    here: float
    there: float

    @property
    def change(self) -> float:
        return self.there - self.here


@dataclass(frozen=True)
class Difference:
    """The difference of layout `there` from layout `here`.

    `decisions` holds the differing variables, both values in words. `time` are terms of a step in seconds,
    of which `there` has `scale` times as many GPUs count: 1 where the objective counts steps and not GPUs.
    `memory` are terms of the fullest rank in bytes. The largest changes come first; terms that are equal are
    left out, so that the changes add up to the difference of the sums.
    """

    here: Estimate
    there: Estimate
    scale: float
    decisions: tuple[tuple[str, str | int, str | int], ...]
    time: tuple[Term, ...]
    memory: tuple[Term, ...]

    @property
    def seconds(self) -> float:
        """By how much the step of `there` is longer, scaled as its terms are."""
        return self.there.step_seconds * self.scale - self.here.step_seconds

    @property
    def memory_bytes(self) -> int:
        return self.there.memory_bytes - self.here.memory_bytes


def difference(here: Estimate, there: Estimate, quantity: str) -> Difference:
    """`quantity` is the goal's first, which tells how layouts on different numbers of GPUs compare."""
    scale = there.layout.gpus / here.layout.gpus if quantity in PER_GPU else 1.0
    ours, theirs = here.layout.in_words, there.layout.in_words
    return Difference(
        here=here,
        there=there,
        scale=scale,
        decisions=tuple(
            (name, ours[name], theirs[name])
            for name in (*ORDER, "dp_replicate", "microbatches")
            if ours[name] != theirs[name]
        ),
        time=_terms(here.time, {name: scale * value for name, value in there.time.items()}),
        memory=_terms(
            {name: float(value) for name, value in here.fullest.memory.items()},
            {name: float(value) for name, value in there.fullest.memory.items()},
        ),
    )


def _terms(here: dict[str, float], there: dict[str, float]) -> tuple[Term, ...]:
    names = dict.fromkeys((*here, *there))
    found = [Term(name, here.get(name, 0.0), there.get(name, 0.0)) for name in names]
    return tuple(
        sorted((each for each in found if each.change), key=lambda each: -abs(each.change))
    )
