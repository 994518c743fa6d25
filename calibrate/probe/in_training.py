"""Figures of kernels in loops of their own -> what they are believed to reach in a step of training.

A probe's figure and the library's are two observations of one number. Of a GPU that runs of training tell of,
the library's figure is what steps reach, and most machines are like it; what a loop reaches is another thing,
and how far the two are apart is known to a few per cent at best. So a deviation that this spread explains
tells nothing, and one of twice as much is the machine's. In between the number moves by twice what is
unexplained, which is never farther from the truth than the library is while the spread holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .levels import Level

#: Deviations of a loop's figure that count as chance.
EXPLAINED = 2.5


@dataclass(frozen=True)
class Bias:
    """`ratio` is what steps of training reach over what loops do, `spread` the deviation of its logarithm
    from one GPU to the next."""

    ratio: float
    spread: float


#: What loops hide: caches that stay warm, clocks that other work would lower, bytes that no formula counts.
BIASES: Mapping[str, Bias] = {
    # dsl/std/gpus.par, [kernels]: H100 0.68 over 0.73, B200 0.48 over 0.49, A100 0.75 over 0.77.
    "matmul_efficiency": Bias(0.97, 0.03),
    # H100: 0.68 of training over 0.65 in loops [semi], and over 0.63 of parc's own probe; casts are priced
    # apart.
    "fp8_efficiency": Bias(1.06, 0.05),
    # Up to 0.90 in loops on NVIDIA GPUs [mi300p], 0.91 by parc's own probe of an H100; in training 0.68 on
    # A100 and B200, 0.71 on H100, 0.75 on V100.
    "memory_efficiency": Bias(0.78, 0.06),
    # Calls of fused attention are kernels of their own in steps too.
    "attention_efficiency": Bias(1.0, 0.03),
    # Loops of collectives have the links to themselves; the library's figures are of such loops too. Assumed.
    "link_efficiency": Bias(1.0, 0.05),
    "network_efficiency": Bias(1.0, 0.05),
    "switch_sums": Bias(1.0, 0.05),
    "nvlink_latency": Bias(1.0, 0.3),
    "network_latency": Bias(1.0, 0.3),
    # A loop of one operation asks what few operations of a layer do; assumed.
    "host_time": Bias(1.0, 0.25),
}


def believed(level: Level, library: float | None) -> float:
    """The number in training by a level, with the `library`'s where runs of training tell of that GPU."""
    bias = BIASES.get(level.number.name)
    if bias is None:
        return level.value
    alone = level.value * bias.ratio
    if library is None:
        return alone
    deviation = math.log(alone / library)
    return library * math.exp(unexplained(deviation, EXPLAINED * bias.spread))


def unexplained(deviation: float, chance: float) -> float:
    """The part of a deviation that a machine is believed to have."""
    size = min(abs(deviation), max(0.0, 2.0 * (abs(deviation) - chance)))
    return math.copysign(size, deviation)
