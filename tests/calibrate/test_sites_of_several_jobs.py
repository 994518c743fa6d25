"""Logs of several jobs on machines of known figures, whose times a second model of training gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.calibrate.measured_run import MeasuredRun
from parc.calibrate.parameters import figure
from parc.calibrate.site import fit_site, predicted_seconds
from parc.calibrate.steady_state import SteadyState
from parc.compiler.case import Case
from parc.compiler.search.complete_layout import complete
from parc.dsl.hardware import Cluster
from parc.dsl.job import Job
from tests.support.other_steps import MACHINES, Machine, machines
from tests.support.simulated_logs import JOB, RUNS, Ran, job_of

MODELS = {
    "8b": "llama3_8b {}",
    "13b": "llama2_13b {}",
    "cut": "llama3_70b { layers = 16 }",
    "1b": "llama3_2_1b {}",
}
FULL = Ran("megatron", "tp=4,zero=1,dp_shard=2,micro_batch=4,recompute=full")
LAYOUTS = {**RUNS, "full": FULL}
#: Model and layout of each log, and of runs that are predicted.
LOGS = (
    ("8b", "tp1"),
    ("13b", "wide"),
    ("cut", "tp2"),
    ("1b", "full"),
    ("8b", "long"),
    ("13b", "tp1"),
)
OTHERS = (
    ("8b", "tp2"),
    ("13b", "tp2"),
    ("cut", "wide"),
    ("8b", "full"),
    ("13b", "long"),
    ("cut", "full"),
    ("1b", "tp1"),
)
#: Machines: some like the library's, some of another kind.
COUNT = 4


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Job]:
    folder = tmp_path_factory.mktemp("jobs")
    texts = {name: JOB.replace("std.llama3_8b {}", f"std.{said}") for name, said in MODELS.items()}
    return {
        (model, layout): job_of(LAYOUTS[layout], folder, texts[model], f"job_{model}.par")
        for model, layout in (*LOGS, *OTHERS)
    }


def ran(job: Job, ran: Ran, machine: Machine) -> MeasuredRun:
    case = Case(job, BACKENDS[ran.target].target)
    layout = complete(
        case, ran.layout.model_dump(exclude={"nodes", "dp_replicate", "microbatches"})
    )
    placement = case.placements.split(layout["pp"], layout["vpp"], 0)
    steps = SteadyState(machine.seconds(ran, job), 0.01, 26, 4)
    return MeasuredRun(str(Path(job.path).stem), job, ran.target, layout, placement, steps, ())


def error(cluster: Cluster, runs: list[MeasuredRun]) -> float:
    """The median error of predicted steps."""
    errors = [predicted_seconds(run, cluster) / run.steps.seconds - 1 for run in runs]
    return float(np.median(np.abs(errors)))


def test_logs_of_several_jobs_tell_more_of_a_machine_than_one(
    jobs: dict[tuple[str, str], Job],
) -> None:
    """Its figures lie closer to the true ones, and no machine's runs, those that were logged and others, are
    predicted worse than by the library by more than a point."""
    library = jobs[LOGS[0]].cluster
    off, errors = [], []
    for machine in machines(jobs[LOGS[0]], COUNT):
        logs, others = (
            [ran(jobs[key], LAYOUTS[key[1]], machine) for key in keys] for keys in (LOGS, OTHERS)
        )
        clusters = (
            library,
            fit_site(library, [[logs[0]]]).cluster,
            fit_site(library, [[log] for log in logs]).cluster,
        )
        off.append([_off(cluster, machine) for cluster in clusters])
        errors.append([[error(cluster, runs) for runs in (logs, others)] for cluster in clusters])
    by_library, by_one, by_several = np.mean(off, axis=0)
    assert by_several[PRODUCTS] < 0.9 * by_library[PRODUCTS]
    assert by_several.mean() < by_one.mean() and by_several.mean() < by_library.mean()
    known, one, several = np.moveaxis(np.array(errors), 1, 0)
    assert (several <= known + 0.01).all(), several - known
    assert (several.mean(axis=0) < 0.9 * known.mean(axis=0)).all()
    assert several[:, 1].mean() < one[:, 1].mean()


#: Where the figure of products is in MACHINES.
PRODUCTS = list(MACHINES).index("matmul_efficiency")


def _off(cluster: Cluster, machine: Machine) -> list[float]:
    """How far each figure is off, as a logarithm."""
    return [abs(float(np.log(figure(cluster, name) / machine.true[name]))) for name in MACHINES]
