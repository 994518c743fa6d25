"""A row of training -> the run that it stands for: one step of a small model on one GPU of a cluster."""

from __future__ import annotations

import math
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
from ..steady_state import SteadyState
from .program.clock import SAMPLES
from .rows import Training

#: The target whose steps they are: PyTorch's own kernels, fp32 weights under autocast on one GPU, in the
#: release whose prices are of that.
((TARGET, RELEASE),) = (
    (name, backend.probed) for name, backend in BACKENDS.items() if backend.probed
)


def run_of(row: Training, cluster: Cluster) -> MeasuredRun:
    """The row as a run on one GPU of `cluster`."""
    one = cluster.model_copy(update={"nodes": (1,), "gpus_per_node": 1})
    plain = row.model_copy(update={"seconds": (), "spread": 0.0, "failed": ""})
    job = _job(plain).model_copy(update={"cluster": one})
    case = Case(job, BACKENDS[TARGET].target)
    layout = _layout(plain)
    placement = case.placements.split(layout["pp"], layout["vpp"], layout[PLACE])
    steps = SteadyState(median(row.times or [math.nan]), row.spread, SAMPLES, 0)
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
