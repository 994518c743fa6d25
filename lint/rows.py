"""Rows of a framework's constraints -> complaints about a launch that breaks them."""

from collections.abc import Callable, Collection, Iterator, Mapping

from ..backends import BACKENDS
from ..backends.constraints import Broken, Constraint, FileKeys, Given, Need, broken
from ..compiler.target import Effect
from ..dsl.diagnostics import Severity
from ..reading.facts import Setting, text_of
from .facts.launched_job import LaunchedJob
from .facts.release import Release, dated
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
    level: Severity | None = None,
) -> Iterator[Complaint]:
    """Complaints on a framework's rows of a code that a launch breaks, in a release that it may be for. They
    have the level of what the framework does, or `level`."""
    options = _options(framework, launch)
    if options is None:
        return
    rows = BACKENDS[framework].constraints.get(code, ())
    release = None if dated(framework) is None else launch.release(framework)
    reported = set[tuple[str, Setting]]()
    for fault in broken(rows, options, lambda row: release is None or _holds(row, release)):
        # Where no release is known, rows of several releases may say it.
        if wanted(fault) and (fault.message, fault.at) not in reported:
            reported.add((fault.message, fault.at))
            related = tuple(Related(_note(fault, other), other) for other in fault.others)
            yield Complaint(
                fault.message,
                fault.at,
                related,
                fault.help,
                level or _SEVERITY[fault.row.effect],
                effect=fault.row.effect,
                since=fault.row.since,
                until=fault.row.until,
                framework=framework,
            )


def _note(fault: Broken, other: Setting) -> str:
    """Words for another option: with its value where that is what is wrong."""
    value = text_of(other) if isinstance(fault.row, Need) else None
    return other.name if value is None else f"{other.name} {value}"


def of_frameworks(
    code: str,
    launch: LaunchedJob,
    wanted: Callable[[Broken], bool] = lambda fault: True,
    without: Collection[str] = (),
) -> Iterator[Complaint]:
    """Complaints on rows of the job's framework, and of those that read a file of the job beside it."""
    for name in BACKENDS:
        if name not in without and (name == launch.framework or not _shared(name)):
            yield from complaints(name, code, launch, wanted)


def _options(framework: str, launch: LaunchedJob) -> Given | None:
    """The options that a framework reads of a launch; None where it reads none."""
    scope = _scope(framework)
    if scope == "argument":
        return launch.config
    if _shared(framework) and launch.framework != framework:
        return None
    settings = launch.all(scope)
    return FileKeys({each.name: each for each in settings}) if settings else None


def _scope(framework: str) -> str:
    telling = dated(framework)
    return "argument" if telling is None else telling.scope


def _shared(framework: str) -> bool:
    """Whether other programs have options of the same scope, each its own."""
    return _scope(framework) in _SHARED


def _holds(row: Constraint, release: Release) -> bool:
    """Whether a release that the job may be for has the row."""
    first = row.since or (release.dated.oldest if isinstance(row, Need) else "")
    over = (
        row.until
        and release.possible
        and not release.history.earlier(release.possible[0], row.until)
    )
    return not over and (not first or not release.before(first))
