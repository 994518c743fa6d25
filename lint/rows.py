"""Rows of a framework's constraints -> complaints about a launch that breaks them."""

from collections.abc import Callable, Iterator, Mapping

from ..backends import BACKENDS
from ..backends.constraints import Broken, Constraint, FileKeys, Given, Need, broken
from ..compiler.target import Effect
from ..dsl.diagnostics import Severity
from ..reading.facts import Setting, text_of
from .facts.launched_job import LaunchedJob
from .facts.release import Release
from .finding import Complaint, Related

#: Scopes of options that several programs read, each its own.
_SHARED = ("argument", "toml")
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
    options = _options(framework, launch)
    if options is None:
        return
    rows, release = BACKENDS[framework].constraints.get(code, ()), launch.release(framework)
    for fault in broken(rows, options, lambda row: _holds(row, release)):
        if wanted(fault):
            related = tuple(Related(_note(fault, other), other) for other in fault.others)
            yield Complaint(
                fault.message,
                fault.at,
                related,
                fault.help,
                _SEVERITY[fault.row.effect],
                effect=fault.row.effect,
                since=fault.row.since,
                until=fault.row.until,
                framework=framework,
            )


def _note(fault: Broken, other: Setting) -> str:
    """Words for another option: with its value where that is what is wrong."""
    value = text_of(other) if isinstance(fault.row, Need) else None
    return other.name if value is None else f"{other.name} {value}"


def of_files(code: str, launch: LaunchedJob) -> Iterator[Complaint]:
    """Complaints on rows of the frameworks that read files of settings."""
    for name, backend in BACKENDS.items():
        telling = backend.reader.dated
        if telling is not None and telling.scope != "argument":
            yield from complaints(name, code, launch)


def _options(framework: str, launch: LaunchedJob) -> Given | None:
    """The options that a framework reads of a launch; None where it reads none."""
    telling = BACKENDS[framework].reader.dated
    scope = "argument" if telling is None else telling.scope
    if scope == "argument":
        return launch.config
    if scope in _SHARED and launch.framework != framework:
        return None
    settings = launch.all(scope)
    return FileKeys({each.name: each for each in settings}) if settings else None


def _holds(row: Constraint, release: Release) -> bool:
    """Whether a release that the job may be for has the row."""
    first = row.since or (release.dated.oldest if isinstance(row, Need) else "")
    over = (
        row.until
        and release.possible
        and not release.history.earlier(release.possible[0], row.until)
    )
    return not over and (not first or not release.before(first))
