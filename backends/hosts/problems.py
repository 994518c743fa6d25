"""Settings of `launch hosts` that no shell could carry out."""

from collections.abc import Iterator

from ...compiler.plan import Plan
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from ...dsl.launchers import Hosts
from ..languages import sbatch

HOSTFILE = "PAR678"
MANUAL = "https://man.openbsd.org/ssh"

#: Code -> (short name, title), for `parc rules`.
CODES = {HOSTFILE: ("hostfile-unreadable", "a path of a hostfile that no line can hold")}


def settings(job: Job) -> Hosts:
    """The settings of the job's launch, which is over hosts."""
    if not isinstance(job.launch, Hosts):
        raise TypeError("the job is launched by something else")
    return job.launch


def problems(job: Job) -> list[Diagnostic]:
    if sbatch.holds(settings(job).hostfile):
        return []
    message = "`hostfile` is empty or has a control character"
    return [Diagnostic(HOSTFILE, message, job.span("launch", "hostfile"))]


def warnings(plan: Plan) -> Iterator[Diagnostic]:
    """Nothing that the script reaches only in part."""
    return iter(())
