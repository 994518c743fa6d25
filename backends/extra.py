"""Complaints about `extra`, the table of a target block that sets what parc has no name for."""

from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job

DECIDED = "PAR330"
CODES = {DECIDED: ("extra-decided", "`extra` sets what the job or the layout decides")}


def decided(job: Job, target: str, key: str) -> Diagnostic:
    """`extra` may not set a key whose value follows from the job."""
    return Diagnostic(
        DECIDED,
        f"`extra` may not set `{key}`: the job or the layout decides it",
        job.span("target", target, "extra"),
        help="constrain the layout in `goal`, or change the setting in `train`",
    )
