"""A job on a target -> which runs that were measured tell of its step time, and the band that follows."""

from dataclasses import dataclass

from ..dsl.hardware import Gpu


@dataclass(frozen=True)
class Familiarity:
    """Knowledge of runs like a job's, in words, and how far their step times lie from predicted ones:
    FOUR_OF_FIVE (risk.py) times `step_spread` in the logarithm holds four of five."""

    words: str
    step_spread: float


#: By whether measured runs tell of the stack and of the GPU. The spread is where `left_out.py` ends: four of
#: five runs of sources that were left out whole lie in the band, every source weighing the same.
#: (benchmarks/accuracy/left_out.py prints them, and how many runs of a source lie in the band of the others.)
FAMILIARITIES = {
    (True, True): Familiarity("software stack and GPU both calibrated on measured runs", 0.121),
    (True, False): Familiarity("software stack calibrated on measured runs, GPU not", 0.146),
    (False, True): Familiarity("GPU calibrated on measured runs, software stack not", 0.227),
    (False, False): Familiarity(
        "neither software stack nor GPU calibrated on measured runs", 0.242
    ),
}
#: Of a GPU block that states `step_spread`, as `parc calibrate` writes it.
OWN = "the spread that the GPU's block states"


def familiarity(stack_measured: bool, gpu: Gpu) -> Familiarity:
    """How well runs of a stack on a GPU are known; a spread that the GPU's block states comes first."""
    if gpu.step_spread is not None:
        return Familiarity(OWN, gpu.step_spread)
    return FAMILIARITIES[stack_measured, gpu.measured]
