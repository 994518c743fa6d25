"""The compiler's own layout predicates, judged on the facts of a launch file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..backends import BACKENDS
from ..backends.reader import Missing
from ..compiler.rules.validity import GENERAL
from ..compiler.target import Predicate
from ..dsl.diagnostics import Severity, Span
from .facts.known import Known
from .facts.launched_job import LaunchedJob
from .facts.nodes import other_world
from .finding import At, Complaint, Related, Skipped

#: Values of a variable as a launch file has it, where the predicate means another; None leaves it.
Adjust = Callable[[LaunchedJob, str], int | None]
#: What to write instead, from the launch alone.
Cure = Callable[[LaunchedJob], str | None]
#: Variables in which SLURM, Kubernetes' operators, MPI and clouds say how many nodes a job has.
_OF_PLATFORMS = re.compile(r"WORLD_SIZE|(?:SLURM|PET|MLP|VC|OMPI|PMI|DLC|ARNOLD|AWS|SM)_\w+")
#: More legal values than anyone reads.
_MOST_LEGAL = 12


def as_is(launch: LaunchedJob, name: str) -> int | None:
    return None


def no_cure(launch: LaunchedJob) -> str | None:
    return None


def judged_by(code: str, launch: LaunchedJob) -> str | None:
    """The framework whose predicates of a code hold for a job: its own, or one whose sums its kind of file
    keeps."""
    if launch.framework is not None:
        return launch.framework
    for name, backend in BACKENDS.items():
        if code in backend.reader.arithmetic.get(launch.kind.name, ()):
            return name
    return None


def predicates_of(code: str, framework: str | None) -> list[Predicate]:
    """The predicates of a code that a framework enforces; its own replace those that hold for all."""
    if framework is None or framework not in BACKENDS:
        return []
    own = [rule for rule in BACKENDS[framework].target.predicates if rule.code == code]
    return own or [rule for rule in GENERAL if rule.code == code]


def enforced(
    code: str,
    launch: LaunchedJob,
    vary: str | None = None,
    adjust: Adjust = as_is,
    cure: Cure = no_cure,
) -> Iterator[Complaint | Skipped]:
    """Complaints of a code's predicates about a launch.

    The help is the cure, or, where there is none, the legal values of the variable `vary`.
    """
    for predicate in predicates_of(code, judged_by(code, launch)):
        if predicate.since and launch.release(launch.framework or "").before(predicate.since):
            continue
        known, easiest = Known(launch), Known(launch)
        try:
            columns = _columns(predicate, known, adjust)
            if _holds(predicate, known, columns):
                continue
            message = predicate.message(known, **columns)
        except Missing as missing:
            whatever = _for_any(predicate, easiest, missing.name, adjust)
            if whatever is not None:
                yield whatever
            elif missing.unknown:
                yield Skipped(frozenset({missing.name}))
            continue
        except (ArithmeticError, ValueError):
            continue
        yield Complaint(
            message,
            *places(known),
            help=cure(launch) or _legal(predicate, known, columns, vary),
            effect=predicate.effect,
            since=predicate.since,
        )


def _for_any(predicate: Predicate, known: Known, missing: str, adjust: Adjust) -> Complaint | None:
    """The complaint of a job that breaks a rule for every value of what is not known."""
    if missing not in predicate.easiest:
        return None
    value = predicate.easiest[missing]
    try:
        columns = {
            name: value if name == missing else _column(known, name, adjust)
            for name in predicate.of
        }
        if _holds(predicate, known, columns):
            return None
        message = f"{predicate.message(known, **columns)}, and of no larger {missing} either"
    except (Missing, ArithmeticError, ValueError):
        return None
    return Complaint(message, *places(known), effect=predicate.effect, since=predicate.since)


def on_assumed_nodes(
    launch: LaunchedJob, found: Iterable[Complaint | Skipped]
) -> Iterator[Complaint | Skipped]:
    """Complaints of too few GPUs, which are warnings where a variable's default says how many nodes there
    are: `NNODES=${NNODES:-1}` is overruled where the job is submitted. They are hints where a platform sets
    the variable, as in `${WORLD_SIZE:-1}`, and where the script writes down another number of processes than
    its node's times the nodes."""
    variable, world = launch.assumed_nodes, other_world(launch)
    for each in found:
        if world is not None and isinstance(each, Complaint):
            each = replace(
                each, severity="info", help=f"WORLD_SIZE={world}: are the nodes unequal?"
            )
        elif variable is not None and isinstance(each, Complaint):
            nodes = launch.facts["nodes"]
            reason = Related(f"the default of ${variable}", nodes)
            severity: Severity = "info" if _OF_PLATFORMS.fullmatch(variable) else "warning"
            each = replace(each, severity=severity, related=(*each.related, reason))
        yield each


def _columns(predicate: Predicate, known: Known, adjust: Adjust) -> dict[str, int]:
    return {name: _column(known, name, adjust) for name in predicate.of}


def _column(known: Known, name: str, adjust: Adjust) -> int:
    value = adjust(known.launch, name)
    return known.column(name) if value is None else value


def _holds(predicate: Predicate, known: Known, columns: Mapping[str, Any]) -> bool:
    return bool(predicate.holds(known, **columns))


def _surely(predicate: Predicate, known: Known, columns: Mapping[str, Any]) -> bool:
    """Whether the rule holds of other values, which may need a fact that the given one did not."""
    try:
        return _holds(predicate, known, columns)
    except Missing:
        return False


def places(known: Known) -> tuple[At, tuple[Related, ...]]:
    """The first value that was looked at, and the others, each position once."""
    first, *others = known.used.values()
    seen, related = {_position(first.at)}, []
    for used in others:
        if _position(used.at) not in seen:
            seen.add(_position(used.at))
            related.append(Related(f"{used.name} {used.value}", used.at))
    return first.at, tuple(related)


def _position(at: At) -> tuple[str, int, int]:
    return at.source.name if isinstance(at, Span) else at.path, at.line, at.column


def _legal(
    predicate: Predicate, known: Known, columns: Mapping[str, int], vary: str | None
) -> str | None:
    """`tp in {1, 2, 4, 8}`: values up to the given one, and at least 8, for which the rule surely holds."""
    if vary is None or vary not in columns:
        return None
    candidates = range(1, max(columns[vary], 8) + 1)
    legal = [value for value in candidates if _surely(predicate, known, {**columns, vary: value})]
    return legal_values(vary, legal)


def legal_values(name: str, legal: Iterable[int]) -> str | None:
    values = list(legal)
    if not values:
        return None
    shown = values if len(values) <= _MOST_LEGAL else [*values[:6], *values[-6:]]
    texts = [str(value) for value in shown]
    if len(values) > _MOST_LEGAL:
        texts.insert(6, "...")
    return f"{name} in {{{', '.join(texts)}}}"
