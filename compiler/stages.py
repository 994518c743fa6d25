"""A job of several stages -> the complaint where one layout is asked for."""

from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.job import Job
from .codes import STAGED


def refuse_stages(job: Job) -> None:
    """Raises JobError for a job of several stages: each of them has a plan of its own."""
    if job.stages:
        names = [each.stage for each in job.stages]
        message = f"{job.name} is trained in stages, {', '.join(names)}, each with its own layout"
        help = f"choose one, such as `--stage {names[0]}`; `parc plan` and `parc compile` take all"
        raise JobError([Diagnostic(STAGED, message, job.span("train"), help=help)])
