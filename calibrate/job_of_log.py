"""Logs and the jobs that may have run them -> the measured run of each, and the cluster that all ran on."""

from collections.abc import Iterator, Mapping, Sequence

from ..dsl.diagnostics import Diagnostic, JobError, Note
from ..dsl.hardware import Cluster
from ..dsl.job import Job
from .codes import OTHER_JOB
from .log_files import log_of, text_of
from .measured_run import MeasuredRun, measured_run
from .other_job import of_another_job
from .parameters import PARAMETERS, owner_of, with_settings
from .site_file import prior

#: Fields of a cluster that decide how long a step takes, beside those that are fitted and its GPU.
PRICED = ("nvlink_domain", "nvlink_mesh", "network", "pod_gpus", "pod_network")
#: Fields of a GPU that do not: names, and what earlier calibrations wrote.
UNPRICED = {"name", "before", "measured", "step_spread"}


def run_of(path: str, jobs: Sequence[Job], given: Mapping[str, int]) -> MeasuredRun:
    """The run of a log, by the one of several jobs that it is of. Raises JobError where it is of none, and
    where the log tells too little to say which."""
    log = log_of(jobs, path, text_of(path))
    jobs = [job for job in jobs if job.options(log.target) is not None]
    refused = {job.path: of_another_job(path, log, job) for job in jobs}
    able = [job for job in jobs if not refused[job.path]] if len(jobs) > 1 else jobs
    if not able:
        notes = tuple(Note(f"{name}: {first.message}") for name, (first, *_) in refused.items())
        message, help = f"`{path}` is of none of the jobs", f"add its own: {path}=JOB.par"
        raise JobError([Diagnostic(OTHER_JOB, message, notes=notes, help=help)])
    runs, complaints = list[MeasuredRun](), list[Diagnostic]()
    for job in able:
        try:
            runs.append(measured_run(path, log, job, given))
        except JobError as error:
            complaints = complaints or list(error.diagnostics)
    if not runs:
        raise JobError(complaints)
    different = {(run.key, str(run.job.options(run.target))): run for run in reversed(runs)}
    if len(different) > 1:
        names = " or ".join(run.job.path for run in different.values())
        message = f"`{path}` does not say which job ran, {names}"
        raise JobError([Diagnostic(OTHER_JOB, message, help=f"say it: {path}=JOB.par")])
    return runs[0]


def cluster_of(jobs: Sequence[Job]) -> Cluster:
    """The cluster of all jobs with its figures as they were before any calibration. Raises JobError where two
    jobs have different ones."""
    first, *others = [with_settings(job.cluster, prior(job)) for job in jobs]
    for job, other in zip(jobs[1:], others, strict=True):
        for name, one, two in _figures(first, other):
            if one != two:
                message = (
                    f"{jobs[0].path} and {job.path} have other clusters: {name} {one} and {two}"
                )
                help = "calibrate each cluster with the logs of its own"
                span = job.span("cluster", name)
                raise JobError([Diagnostic(OTHER_JOB, message, span, help=help)])
    return first


def _figures(one: Cluster, other: Cluster) -> Iterator[tuple[str, object, object]]:
    """Names of what decides how long a step takes, with both clusters' values."""
    fitted = {name for each in PARAMETERS for name in each.settings if owner_of(name) == "cluster"}
    for name in (*PRICED, *sorted(fitted)):
        yield name, getattr(one, name), getattr(other, name)
    for name in type(one.gpu).model_fields:
        if name not in UNPRICED:
            yield f"gpu.{name}", getattr(one.gpu, name), getattr(other.gpu, name)
