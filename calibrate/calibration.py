"""Logs and their job -> parameters, errors before and after, and why the result cannot be trusted, if so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import hypot
from statistics import median

from ..dsl.diagnostics import Diagnostic, JobError, Note
from ..dsl.job import Job
from .codes import CONTRADICTORY, TOO_FEW
from .fit import Finding, fit, predicted_seconds
from .measured_run import Run, run_of
from .reading import counted, read_logs
from .site_file import prior

#: Different runs without which nothing is fitted: one would be met exactly, and tell of nothing.
FEWEST_RUNS = 2
#: Two runs of one layout contradict each other beyond this share, or this many of their own deviations.
NOISE, DEVIATIONS = 0.05, 3.0
#: Error of a run after fitting beyond which it does not belong to the others.
UNEXPLAINED = 0.15


@dataclass(frozen=True)
class Compared:
    """One run: error of the prediction with the parameters as they were, and as fitted (shares)."""

    run: Run
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """`complaints` say why nothing should be written; then `findings` may be empty."""

    job: Job
    compared: tuple[Compared, ...]
    different: int
    findings: tuple[Finding, ...]
    complaints: tuple[Diagnostic, ...]


def calibrate(
    job: Job, paths: Sequence[str], layouts: Mapping[str, Mapping[str, int]]
) -> Calibration:
    """`layouts` gives by log what it leaves open, under "" for all of them.

    Raises JobError for logs that cannot be used: unreadable, of another framework or job, without a layout.
    """
    runs = _runs(job, paths, layouts)
    known = prior(job)
    groups = _groups(runs)
    complaints = [*_too_few(groups, len(runs)), *_contradicting(groups)]
    findings = tuple(fit([_typical(group) for group in groups], known)) if not complaints else ()
    fitted = {found.parameter.name: found.value for found in findings} or known
    compared = tuple(Compared(run, _error(run, known), _error(run, fitted)) for run in runs)
    if findings:
        complaints += [*_untold(findings), *_unexplained(compared)]
    return Calibration(job, compared, len(groups), findings, tuple(complaints))


def _runs(job: Job, paths: Sequence[str], layouts: Mapping[str, Mapping[str, int]]) -> list[Run]:
    runs: list[Run] = []
    complaints: list[Diagnostic] = []
    for path, log in zip(paths, read_logs(job, paths), strict=True):
        try:
            runs.append(run_of(path, log, job, layouts.get(path, layouts.get("", {}))))
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError([*complaints, counted(len(paths) - len(runs), len(paths))])
    return runs


def _groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of one layout and batch together."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    return list(groups.values())


def _typical(group: Sequence[Run]) -> Run:
    """Several runs of one layout as one, at their median time."""
    seconds = median(run.measured.seconds for run in group)
    return replace(group[0], measured=replace(group[0].measured, seconds=seconds))


def _error(run: Run, values: Mapping[str, float]) -> float:
    return predicted_seconds(run, values) / run.measured.seconds - 1


def _too_few(groups: Sequence[object], runs: int) -> list[Diagnostic]:
    if len(groups) >= FEWEST_RUNS:
        return []
    what = "1 run" if runs == 1 else f"{runs} runs of one layout and batch"
    message = (
        f"{what} cannot tell one parameter from another; {FEWEST_RUNS} different ones are needed"
    )
    help = (
        "measure another layout: other tp, pp or micro-batch, another sequence length or more nodes"
    )
    return [Diagnostic(TOO_FEW, message, help=help)]


def _contradicting(groups: Sequence[Sequence[Run]]) -> list[Diagnostic]:
    """Runs of one layout whose times differ by more than their own noise."""
    found = []
    for one, other in (pair for group in groups for pair in combinations(group, 2)):
        noise = max(NOISE, DEVIATIONS * hypot(one.measured.spread, other.measured.spread))
        times = sorted((one.measured.seconds, other.measured.seconds))
        if times[1] / times[0] - 1 > noise:
            message = (
                f"`{one.path}` and `{other.path}` ran the same layout in {one.measured.seconds:.4g} s "
                f"and {other.measured.seconds:.4g} s"
            )
            help = f"find out which is wrong; {noise:.0%} apart would pass for noise"
            found.append(Diagnostic(CONTRADICTORY, message, help=help))
    return found


def _untold(findings: Sequence[Finding]) -> list[Diagnostic]:
    if any(found.told for found in findings):
        return []
    message = "the runs tell of no parameter: something else decides their time"
    help = "measure larger models or micro-batches, and layouts that differ in tp, pp or nodes"
    return [Diagnostic(TOO_FEW, message, help=help)]


def _unexplained(compared: Sequence[Compared]) -> list[Diagnostic]:
    bad = sorted(
        (each for each in compared if abs(each.after) > UNEXPLAINED), key=lambda c: -abs(c.after)
    )
    if not bad:
        return []
    message = f"{len(bad)} of {len(compared)} runs fit no cluster that also ran the others"
    notes = tuple(
        Note(f"`{each.run.path}` is predicted {each.after:+.0%} off its time at best")
        for each in bad
    )
    help = "check that the logs are of this job, cluster and layout; leave out those that are not"
    return [Diagnostic(CONTRADICTORY, message, notes=notes, help=help)]
