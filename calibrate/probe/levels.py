"""Rows of the probe -> the numbers of a GPU and its cluster, each with its spread.

The compiler's price of a row is turned around: the value of one number at which the price is what was
measured. The median over the rows whose price hangs on it most is the number; numbers that hang on each other
are taken in turns until none moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Literal

from ...dsl.hardware import Cluster
from .prices import predicted_seconds
from .rows import Attention, Collective, Copy, Launch, Product, Row, Stream

#: A row tells of a number where its price follows at least this share of a change of it, in logarithms: what
#: a formula misjudges of all else would be the number's. On an H100, products of 512 rows, of which half is
#: bytes, would put their rate 0.14 higher than products of 2,048 rows and more.
LEADING = 0.85
#: The same where no row follows a number so far, as attention's of small cases on CPUs: half of a change.
PARTLY = 0.5
#: Half the interval of a central difference, in logarithms.
STEP = 0.02
#: Where values are looked for: shares of a peak, which the probe may show to be another part's, seconds,
#: bytes per second, and factors.
SHARES, LATENCIES, RATES, FACTORS = (1e-5, 10.0), (1e-9, 1.0), (1e3, 1e16), (1e-4, 1e4)
#: Steps of a search at most, and the share of a row's time to which it is exact.
TRIES, EXACT = 40, 1e-6
#: Rounds over all numbers at most, and the change of a number at which they end.
ROUNDS, SETTLED = 8, 1e-4
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


NUMBERS = (
    Number("memory_efficiency", "gpu", _of(Stream), SHARES),
    Number("host_time", "cluster", _of(Launch), FACTORS),
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


def _leading(number: Number, rows: Sequence[Row], cluster: Cluster) -> list[Row]:
    """The rows whose prices follow the number; where none does so alone, those that follow it most."""
    shares = [_share(number, row, cluster) for row in rows]
    most = max(shares, default=0.0)
    least = LEADING if most >= LEADING else max(most * LEADING, PARTLY)
    return [row for row, share in zip(rows, shares, strict=True) if share >= least]


def _level(number: Number, rows: Sequence[Row], cluster: Cluster) -> Level | None:
    """None where no row tells of the number. Forward and backward passes count the same, however many rows of
    either there are: their prices are off by different factors."""
    told = [row for row in rows if number.told_by(row) and row.times]
    leading = _leading(number, told, cluster)
    logs: dict[str, list[float]] = {}
    for row in leading:
        if value := _inverted(number, row, cluster):
            direction = row.direction if isinstance(row, Attention) else ""
            logs.setdefault(direction, []).append(math.log(value))
    if not logs:
        return None
    middle = mean(median(of_one) for of_one in logs.values())
    all_of_them = [value for of_one in logs.values() for value in of_one]
    spread = MAD_TO_STD * median(abs(value - middle) for value in all_of_them)
    return Level(number, math.exp(middle), spread, len(all_of_them))


def _share(number: Number, row: Row, cluster: Cluster) -> float:
    """The derivative of the price's logarithm by the number's."""
    value = value_of(cluster, number)
    if not value:
        return 0.0
    ends = [with_value(cluster, number, value * math.exp(step)) for step in (-STEP, STEP)]
    low, high = (math.log(predicted_seconds(row, each)) for each in ends)
    return abs(high - low) / (2 * STEP)


def _inverted(number: Number, row: Row, cluster: Cluster) -> float | None:
    """The value at which the price is the row's time; None where no value is. Prices are monotone in it, and
    nearly a power of it: the ends of an interval that holds it close in by the Illinois rule."""
    measured = math.log(median(row.times))

    def over(place: float) -> float:
        priced = predicted_seconds(row, with_value(cluster, number, math.exp(place)))
        return math.log(priced) - measured

    low, high = (math.log(bound) for bound in number.bounds)
    below, above = over(low), over(high)
    if below * above >= 0:
        return None
    side = 0
    for _ in range(TRIES):
        middle = (low * above - high * below) / (above - below)
        miss = over(middle)
        if abs(miss) < EXACT:
            break
        if (miss > 0) == (above > 0):
            high, above, below = middle, miss, below / (2 if side == 1 else 1)
            side = 1
        else:
            low, below, above = middle, miss, above / (2 if side == -1 else 1)
            side = -1
    return math.exp(middle)


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
