"""Columns of layouts -> how much of a step each mechanism decides, and how far it may be misjudged.

A mechanism is what many terms share and misjudge together: the rate of matrix products, a link, the host. The
share of a step that it decides is d ln(step) / d ln(its time): the layouts are priced again with its time
`LONGER`, so that bubble, overlap and stragglers have their part in it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..algebra import Integers, Variants
from ..case import Case
from ..time import step
from ..variables import ORDER

Floats = npt.NDArray[np.float64]

#: By how much a mechanism's time is raised to see its share of a step.
LONGER = 1.1


@dataclass(frozen=True)
class Mechanism:
    """Figures of a GPU, a cluster or the host that share an error: `rates` fall and `times` rise with it.
    `spread` is the deviation of ln(true / predicted time)."""

    name: str
    spread: float
    rates: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


#: Deviations of the errors that layouts of one job have in common. These and those below are the largest that
#: benchmarks/accuracy/fit_spreads.py fits to measured runs without any one of their 17 sources: few sources
#: tell of each, and none alone is to make a plan surer.
MECHANISMS = (
    Mechanism("products", 0.016, rates=("matmul_efficiency", "fp8_efficiency", "fp4_efficiency")),
    Mechanism("attention", 0.18, rates=("attention_efficiency",)),
    Mechanism("memory", 0.13, rates=("memory_efficiency",)),
    Mechanism("fast link", 0.37, rates=("nvlink",), times=("nvlink_latency",)),
    Mechanism("network", 0.27, rates=("network_efficiency",), times=("network_latency",)),
    Mechanism(
        "host",
        0.66,
        times=("kernel_launch", "gap_seconds", "host_seconds", "expert_host_seconds"),
    ),
)
#: Deviation of the share of overlapped traffic that does not overlap, beyond what is priced.
OVERLAP = 0.21
#: Deviation of what a doubling of a degree costs beyond all terms, as a share of a step, for each degree.
DOUBLING = 0.011
#: Deviation of what a layout costs beyond all these, as a share of a step.
LAYOUT = 0.022
#: Deviation of what all layouts with one tp, pp, cp and ep have in common beyond all these: in public sweeps
#: half of the pairs of such layouts are misjudged by up to 2.5 % of each other, of other pairs by up to 6 %.
SPLIT = 0.03
#: Deviation of what all layouts of a job have in common, which ranks none.
COMMON = 0.1
#: Deviation of ln(measured / true) of a step's time from one run of a layout to the next: repeats of public
#: sweeps lie within 1 to 2 % (benchmarks/accuracy/accuracy.py, `repeats`).
RUN = 0.01
#: Ways of splitting, each with an error of its own.
WAYS = ("tp", "pp", "cp", "ep")
NAMES = (*(each.name for each in MECHANISMS), "overlap", *WAYS)
SPREADS = np.array([*(each.spread for each in MECHANISMS), OVERLAP, *[DOUBLING] * len(WAYS)])

#: Traits of a framework that overlaps nothing.
EXPOSED = {
    "gradient_reduction": False,
    "micro_batch_reduction": False,
    "weight_gather": False,
    "updated_weight_gather": False,
    "tensor_parallel": False,
    "tensor_parallel_backward": False,
    "context_exchange": False,
    "expert_exchange": False,
}


#: Terms in which overlap has a part.
OVERLAPPED = (
    step.tensor_forward,
    step.tensor_backward_attention,
    step.tensor_backward_dense,
    step.context_forward,
)


def shares(case: Case, columns: Mapping[str, Integers]) -> Floats:
    """d ln(step) / d(error) of every error of NAMES, rows, for every layout, columns. `columns` holds every
    variable, derived ones included."""
    variants = Variants(_longer(case), columns)
    priced = step.step_time(variants)[0].astype(float)
    longer = np.log(priced[1:] / priced[0]) / np.log(LONGER)
    unhidden = step.step_time(variants.first(exposed(case), OVERLAPPED))[0]
    overlapped = np.maximum(unhidden / priced[0] - 1.0, 0.0)
    return np.vstack([longer, overlapped, *(np.log2(columns[name]) for name in WAYS)])


def kinship(layouts: Mapping[str, Integers], others: Mapping[str, Integers]) -> Floats:
    """Covariance of what layouts, rows, and others, columns, cost beyond the mechanisms: whole decisions.

    It ranks layouts of one job, for which the falling `likeness` of search/expected_step.py is worse: with it
    for the equal split, 3 trials leave regrets of 1.1 % and 1.5 % in two sweeps of benchmarks/trials.py,
    where this leaves none.
    """
    same = _equal(layouts, others, ORDER)
    split = _equal(layouts, others, WAYS)
    return np.asarray(COMMON**2 + SPLIT**2 * split + LAYOUT**2 * same)


def _equal(
    layouts: Mapping[str, Integers], others: Mapping[str, Integers], names: Sequence[str]
) -> npt.NDArray[np.bool_]:
    found = [np.equal.outer(layouts[name], others[name]) for name in names]
    return np.asarray(np.logical_and.reduce(found))


def drawn_errors(found: Floats, draws: int, own: Floats | float = LAYOUT) -> Floats:
    """`draws` of ln(true / predicted time), rows, of layouts whose `shares` are the columns of `found`; `own`
    is the deviation of what each layout costs beyond them."""
    errors, layouts = found.shape
    normal = normal_numbers(draws * (errors + layouts)).reshape(draws, errors + layouts)
    return np.asarray((normal[:, :errors] * SPREADS) @ found + own * normal[:, errors:])


@lru_cache(maxsize=1)
def normal_numbers(count: int) -> Floats:
    """Normally distributed numbers (Box and Muller 1958, Annals of Mathematical Statistics 29), the same ones
    with every release of numpy."""
    bits = np.frombuffer(random.Random(0).randbytes(8 * (count // 2 + 1)), dtype="<u4")
    lengths, turns = (bits.astype(float) + 0.5).reshape(2, -1) / 2**32
    radius = np.sqrt(-2.0 * np.log(lengths))
    return np.concatenate([radius * turn(2 * np.pi * turns) for turn in (np.cos, np.sin)])[:count]


def _longer(case: Case) -> Case:
    """A case whose rates are columns: first as they are, then longer by one mechanism after the other."""
    factors = np.ones((len(MECHANISMS), len(MECHANISMS) + 1, 1))
    for number in range(len(MECHANISMS)):
        factors[number, number + 1] = LONGER
    return slowed(case, factors)


def slowed(case: Case, factors: Sequence[Any] | npt.NDArray[Any]) -> Case:
    """A case in which each of MECHANISMS takes its factor times as long; a factor may be a column."""
    figures = {**vars(case.cluster), **vars(case.gpu), **vars(case.traits.host)}
    changed: dict[str, Any] = {}
    for mechanism, factor in zip(MECHANISMS, factors, strict=True):
        changed |= {name: figures[name] * factor for name in mechanism.times}
        changed |= {name: figures[name] / factor for name in mechanism.rates}
    return _changed(case, changed)


def _changed(case: Case, figures: Mapping[str, Any]) -> Case:
    """A case with other figures of its GPU, cluster and host, each by its name."""

    def of(owner: object) -> dict[str, Any]:
        return {name: value for name, value in figures.items() if name in vars(owner)}

    gpu = case.gpu.model_copy(update=of(case.gpu))
    cluster = case.cluster.model_copy(update={**of(case.cluster), "gpu": gpu})
    traits = case.traits.replaced(**of(case.traits.host))
    target = replace(case.target, traits=traits, stack=lambda job: {})
    return Case(case.job.model_copy(update={"cluster": cluster}), target)


def exposed(case: Case) -> Case:
    """A case whose framework overlaps no traffic with computation."""
    traits = case.traits.replaced(**EXPOSED)
    return Case(case.job, replace(case.target, traits=traits, stack=lambda job: {}))
