"""Steps of the probe's small models -> the numbers of a cluster at which their prices are what was measured.

A loop tells what a kernel reaches alone; a step also has what no loop has: caches that other kernels filled,
clocks under the power of all of them, Python between them. Each step is a run of training, and is used as
`parc calibrate` uses runs: an observation of the same parameters, with the same priors around the numbers so
far (calibrate/posterior.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from ...backends import BACKENDS
from ...compiler.case import Case
from ...compiler.plan import RECOMPUTE
from ...compiler.search.complete_layout import complete
from ...compiler.variables import PLACE
from ...dsl.check import loads
from ...dsl.hardware import Cluster
from ...dsl.job import Job
from ..measured_run import MeasuredRun
from ..parameters import bounds, with_settings
from ..posterior import posterior
from ..site import observation, predicted_seconds, written
from ..steady_state import SteadyState
from .rows import Training

#: The target whose steps they are: PyTorch's own kernels, fp32 weights under autocast on one GPU, in the
#: release whose prices are of that.
((TARGET, RELEASE),) = (
    (name, backend.probed) for name, backend in BACKENDS.items() if backend.probed
)
#: Batches of a row (program/clock.py).
BATCHES = 5


@dataclass(frozen=True)
class Trained:
    """`cluster` with what steps of `count` models tell of it; ln(priced / measured) of each of them with the
    numbers of loops, and with these."""

    cluster: Cluster
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def count(self) -> int:
        return len(self.before)


def trained(cluster: Cluster, rows: Sequence[Training]) -> Trained:
    """The cluster as it was where it has no row, or its GPU no bf16."""
    runs = [run_of(row, cluster) for row in rows if row.times and cluster.gpu.bf16]
    if not runs:
        return Trained(cluster, (), ())
    found = posterior([observation(cluster, [run]) for run in runs], bounds(cluster))
    told = with_settings(cluster, written(cluster, found.errors))
    return Trained(told, _errors(runs, cluster), _errors(runs, told))


def _errors(runs: Sequence[MeasuredRun], cluster: Cluster) -> tuple[float, ...]:
    return tuple(math.log(predicted_seconds(run, cluster) / run.steps.seconds) for run in runs)


def run_of(row: Training, cluster: Cluster) -> MeasuredRun:
    """The row as a run on one GPU of `cluster`."""
    one = cluster.model_copy(update={"nodes": (1,), "gpus_per_node": 1})
    plain = row.model_copy(update={"seconds": (), "spread": 0.0, "failed": ""})
    job = _job(plain).model_copy(update={"cluster": one})
    case = Case(job, BACKENDS[TARGET].target)
    layout = _layout(plain)
    placement = case.placements.split(layout["pp"], layout["vpp"], layout[PLACE])
    steps = SteadyState(median(row.times or [math.nan]), row.spread, BATCHES, 0)
    return MeasuredRun("probe", job, TARGET, layout, placement, steps, ())


@cache
def _job(row: Training) -> Job:
    """The job of one step, on a GPU that is put in later."""
    shape = "; ".join(
        f"{name} = {getattr(row, name)}"
        for name in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
    )
    compiled = "true" if row.compile else "false"
    return loads(
        f"model probe {{ {shape} }}\n"
        "cluster one from std.dgx_h100 { nodes = 1; gpus_per_node = 1 }\n"
        f"train {{ seq_len = {row.seq_len}; global_batch = {row.batch}; steps = 1; "
        f"compile = {compiled} }}\n"
        f'target {TARGET} {{ data = synthetic; version = "{RELEASE}" }}\n',
        targets={TARGET: BACKENDS[TARGET].target.options},
    )


@cache
def _layout(row: Training) -> dict[str, int]:
    given = {"micro_batch": row.batch, "recompute": RECOMPUTE.index(row.recompute), "zero": 0}
    return {**complete(Case(_job(row), BACKENDS[TARGET].target), given), PLACE: 0}
