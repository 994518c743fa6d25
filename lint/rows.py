"""Rows of a framework's constraints -> complaints about a launch that breaks them."""

from collections.abc import Callable, Iterator, Mapping

from ..backends import BACKENDS
from ..backends.constraints import Broken, Constraint, Need, broken
from ..compiler.target import Effect
from ..dsl.diagnostics import Severity
from .facts.launched_job import LaunchedJob
from .facts.release import Release
from .finding import Complaint, Related

#: The first release that needs without `since` speak of: options of before are other programs'.
OLDEST = "0.4"
#: Of what is not certain by the effect that it has.
_SEVERITY: Mapping[Effect, Severity] = {
    Effect.STOPS: "error",
    Effect.IGNORES: "warning",
    Effect.WORSE: "info",
    Effect.ACCEPTS: "info",
}


def complaints(
    framework: str,
    code: str,
    launch: LaunchedJob,
    wanted: Callable[[Broken], bool] = lambda fault: True,
) -> Iterator[Complaint]:
    """Complaints on a framework's rows of a code that a launch breaks, in a release that it may be for."""
    rows, release = BACKENDS[framework].constraints[code], launch.release(framework)
    for fault in broken(rows, launch.config, lambda row: _holds(row, release)):
        if wanted(fault):
            related = tuple(Related(other.name, other) for other in fault.others)
            yield Complaint(
                fault.message,
                fault.at,
                related,
                fault.help,
                _SEVERITY[fault.row.effect],
                effect=fault.row.effect,
                since=fault.row.since,
            )


def _holds(row: Constraint, release: Release) -> bool:
    """Whether a release that the job may be for has the row."""
    first = row.since or (OLDEST if isinstance(row, Need) else "")
    return not first or not release.before(first)
