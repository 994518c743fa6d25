"""A job on a target -> which runs that were measured tell of its step time, and the band that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..dsl.hardware import Gpu
from .risk import FOUR_OF_FIVE

#: What is unknown of runs like a job's -> how much wider that makes the band: the half-widths add up, in the
#: logarithm, and four of five runs of sources that were left out whole lie within their sum, every source
#: weighing the same (benchmarks/accuracy/left_out.py prints them, and how many runs of a source lie in the
#: band of the others). `run` is that of any run; `unseen` is added where nobody ran such a software stack, or
#: not with models of the kind, dense or with experts, on such a GPU (two numbers for the two hold no more and
#: are wider), and `experts` for experts, whose balance over ranks and host time differ most between runs.
WIDTHS: Mapping[str, float] = {"run": 0.107, "unseen": 0.184, "experts": 0.110}
#: Of a GPU block that states `step_spread`, as `parc calibrate` writes it.
OWN = "the spread that the GPU's block states"


@dataclass(frozen=True)
class Known:
    """Measured runs like a job: whether they tell of its software `stack`, and whether of its framework with
    models of its `kind` on such a GPU; whether the model has `experts`."""

    stack: bool
    kind: bool
    experts: bool

    @property
    def widths(self) -> tuple[str, ...]:
        """The names of WIDTHS that add up to the half-width of the band."""
        added = {
            "run": True,
            "unseen": not (self.stack and self.kind),
            "experts": self.experts,
        }
        return tuple(name for name in WIDTHS if added[name])

    @property
    def words(self) -> str:
        model = "with experts" if self.experts else "dense"
        if not self.stack:
            return "no run of such a software stack was measured"
        if not self.kind:
            return f"runs of such a software stack were measured, none {model} on such a GPU"
        return f"runs of such a software stack on such a GPU were measured, {model}"


@dataclass(frozen=True)
class Familiarity:
    """Knowledge of runs like a job's, in words, and how far their step times lie from predicted ones:
    FOUR_OF_FIVE (risk.py) times `step_spread` in the logarithm holds four of five."""

    words: str
    step_spread: float


def spread(known: Known, widths: Mapping[str, float] = WIDTHS) -> float:
    """The spread whose band has the half-width that is known so well."""
    return sum(widths[name] for name in known.widths) / FOUR_OF_FIVE


def familiarity(known: Known, gpu: Gpu) -> Familiarity:
    """How well runs are known; a spread that the GPU's block states comes first."""
    if gpu.step_spread is not None:
        return Familiarity(OWN, gpu.step_spread)
    return Familiarity(known.words, spread(known))
