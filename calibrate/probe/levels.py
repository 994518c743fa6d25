"""Rows of the probe -> the numbers of a GPU and its cluster, each with its spread.

The compiler's price of a row is turned around: the value of one number at which the price is what was
measured. The median over the rows whose price hangs on it most is the number; numbers that hang on each other
are taken in turns until none moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ...dsl.hardware import Cluster
from .prices import predicted_seconds
from .rows import Attention, Collective, Copy, Launch, Product, Row, Stream

#: A row tells of a number where its price follows at least this share of a change of it, in logarithms:
#: more than all else together.
LEADING = 0.5
#: Half the interval of a central difference, in logarithms.
STEP = 0.02
#: Where values are looked for: shares of a peak, which the probe may show to be another part's, seconds, and
#: bytes per second.
SHARES, LATENCIES, RATES = (1e-5, 10.0), (1e-9, 1.0), (1e3, 1e16)
#: Halvings of a search in logarithms: to a millionth.
HALVINGS = 30
#: Rounds over all numbers at most, and the change of a number at which they end.
ROUNDS, SETTLED = 8, 1e-4
#: What products of a model's shapes reach in training over what they reach alone (dsl/std/gpus.par,
#: [kernels]: the median of H100, B200 and A100).
IN_TRAINING = 0.97
#: Median absolute deviation -> standard deviation of a normal distribution.
MAD_TO_STD = 1.4826


@dataclass(frozen=True)
class Number:
    """A number of the cost model that the probe can tell, and the rows that may."""

    name: str
    owner: Literal["gpu", "cluster"]
    told_by: Callable[[Row], bool]
    bounds: tuple[float, float]


def _of(kind: type) -> Callable[[Row], bool]:
    return lambda row: isinstance(row, kind)


def _of_launches(row: Row) -> bool:
    """Products in 8 bits start another kernel than the compiler's price counts."""
    return isinstance(row, Launch) or (isinstance(row, Product) and row.dtype != "fp8")


NUMBERS = (
    Number("memory_efficiency", "gpu", _of(Stream), SHARES),
    Number("kernel_launch", "gpu", _of_launches, LATENCIES),
    Number("matmul_efficiency", "gpu", _of(Product), SHARES),
    Number("fp8_efficiency", "gpu", _of(Product), SHARES),
    Number("attention_efficiency", "gpu", _of(Attention), SHARES),
    Number("pcie", "gpu", _of(Copy), RATES),
    Number("nvlink_latency", "gpu", _of(Collective), LATENCIES),
    Number("link_efficiency", "gpu", _of(Collective), SHARES),
    Number("switch_sums", "gpu", _of(Collective), SHARES),
    Number("network_latency", "cluster", _of(Collective), LATENCIES),
    Number("network_efficiency", "cluster", _of(Collective), SHARES),
)


@dataclass(frozen=True)
class Level:
    """A number as measured: `spread` is the standard deviation of its logarithm over `rows` rows, which says
    how far the formula is from each shape."""

    number: Number
    value: float
    spread: float
    rows: int


def levels(rows: Sequence[Row], cluster: Cluster) -> dict[str, Level]:
    """The numbers that the rows tell, by name, on top of those of `cluster`; shares may exceed 1."""
    found: dict[str, Level] = {}
    rows = [*_fastest_attention([row for row in rows if _has_rate(row, cluster)], cluster)]
    for _ in range(ROUNDS):
        moved = 0.0
        for number in NUMBERS:
            if level := _level(number, rows, cluster):
                before = value_of(cluster, number)
                moved = max(moved, abs(math.log(level.value / before)) if before else 1.0)
                cluster, found[number.name] = with_value(cluster, number, level.value), level
        if moved < SETTLED:
            break
    return found


def _has_rate(row: Row, cluster: Cluster) -> bool:
    return not isinstance(row, Product) or cluster.gpu.rate(row.dtype) is not None


def value_of(cluster: Cluster, number: Number) -> float:
    return float(getattr(cluster.gpu if number.owner == "gpu" else cluster, number.name))


def with_value(cluster: Cluster, number: Number, value: float) -> Cluster:
    if number.owner == "cluster":
        return cluster.model_copy(update={number.name: value})
    gpu = cluster.gpu.model_copy(update={number.name: value})
    return cluster.model_copy(update={"gpu": gpu})


def _level(number: Number, rows: Sequence[Row], cluster: Cluster) -> Level | None:
    """None where no row tells of the number."""
    told = [row for row in rows if number.told_by(row) and row.times]
    leading = [row for row in told if _share(number, row, cluster) >= LEADING]
    logs = [math.log(value) for row in leading if (value := _inverted(number, row, cluster))]
    if not logs:
        return None
    middle = median(logs)
    spread = MAD_TO_STD * median(abs(each - middle) for each in logs)
    return Level(number, math.exp(middle), spread, len(logs))


def _share(number: Number, row: Row, cluster: Cluster) -> float:
    """The derivative of the price's logarithm by the number's."""
    value = value_of(cluster, number)
    if not value:
        return 0.0
    ends = [with_value(cluster, number, value * math.exp(step)) for step in (-STEP, STEP)]
    low, high = (math.log(predicted_seconds(row, each)) for each in ends)
    return abs(high - low) / (2 * STEP)


def _inverted(number: Number, row: Row, cluster: Cluster) -> float | None:
    """The value at which the price is the row's time; None where no value is. Prices are monotone in it."""
    measured = median(row.times)
    low, high = (math.log(bound) for bound in number.bounds)

    def above(place: float) -> bool:
        return predicted_seconds(row, with_value(cluster, number, math.exp(place))) > measured

    first = above(low)
    if above(high) == first:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) == first else (low, middle)
    return math.exp((low + high) / 2)


def _fastest_attention(rows: Sequence[Row], cluster: Cluster) -> Iterator[Row]:
    """The rows, those of attention only of the kernel that is fastest in the median shape."""
    paces = attention_paces(rows, cluster)
    fastest = min(paces, key=lambda kernel: paces[kernel], default=None)
    return (row for row in rows if not isinstance(row, Attention) or row.kernel == fastest)


def attention_paces(rows: Sequence[Row], cluster: Cluster) -> Mapping[str, float]:
    """Each kernel's median time over the compiler's price of the fastest one on the cluster."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if isinstance(row, Attention) and row.times:
            plain = row.model_copy(update={"kernel": FASTEST})
            ratio = median(row.times) / predicted_seconds(plain, cluster)
            found.setdefault(row.kernel, []).append(ratio)
    return {kernel: median(ratios) for kernel, ratios in found.items()}


#: No kernel of `PACE`: priced as the GPU's fastest.
FASTEST = "any:fastest"
