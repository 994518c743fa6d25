"""Logs and their job -> fitted parameters, errors before and after, and why the result cannot be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import hypot
from statistics import median

from ..dsl.diagnostics import Diagnostic, JobError, Note
from ..dsl.job import Job
from .codes import CONTRADICTORY, TOO_FEW
from .fit import FittedParameter, fit, predicted_seconds
from .log_files import counted, read_logs
from .measured_run import MeasuredRun, measured_run
from .site_file import prior

#: Different runs without which nothing is fitted: one run is met exactly by many values.
FEWEST_RUNS = 2
#: Two runs of one layout contradict each other when they differ by more than this share of a step, and by
#: more than this many of their own standard deviations.
NOISE, DEVIATIONS = 0.05, 3.0
#: Residual error of a run, as a share of its step, beyond which it does not belong to the others.
UNEXPLAINED = 0.15


@dataclass(frozen=True)
class Compared:
    """One run: predicted over measured time, less 1, with the prior parameters and with the fitted ones."""

    run: MeasuredRun
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """`different` counts layouts and batches. With `complaints` nothing should be written, and `parameters`
    may be empty."""

    job: Job
    compared: tuple[Compared, ...]
    different: int
    parameters: tuple[FittedParameter, ...]
    complaints: tuple[Diagnostic, ...]


def calibrate(
    job: Job, paths: Sequence[str], layouts: Mapping[str, Mapping[str, int]]
) -> Calibration:
    """Fits the parameters of the job's cluster to the logs at `paths`.

    `layouts` gives degrees by log, those of all logs under "". Raises JobError for logs that cannot be used:
    unreadable, of another framework or job, without a layout.
    """
    runs = _runs(job, paths, layouts)
    before = prior(job)
    groups = _groups(runs)
    complaints = [*_too_few(groups, len(runs)), *_contradicting(groups)]
    parameters = (
        tuple(fit([_median_run(group) for group in groups], before)) if not complaints else ()
    )
    after = {found.parameter.name: found.value for found in parameters} or before
    compared = tuple(Compared(run, _error(run, before), _error(run, after)) for run in runs)
    if parameters:
        complaints += [*_nothing_identifiable(parameters), *_unexplained(compared)]
    return Calibration(job, compared, len(groups), parameters, tuple(complaints))


def _runs(
    job: Job, paths: Sequence[str], layouts: Mapping[str, Mapping[str, int]]
) -> list[MeasuredRun]:
    runs: list[MeasuredRun] = []
    complaints: list[Diagnostic] = []
    for path, log in zip(paths, read_logs(job, paths), strict=True):
        try:
            runs.append(measured_run(path, log, job, layouts.get(path, layouts.get("", {}))))
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError([*complaints, counted(len(paths) - len(runs), len(paths))])
    return runs


def _groups(runs: Sequence[MeasuredRun]) -> list[list[MeasuredRun]]:
    """Runs of one layout and batch together."""
    groups: dict[tuple[object, ...], list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    return list(groups.values())


def _median_run(group: Sequence[MeasuredRun]) -> MeasuredRun:
    """Several runs of one layout as one, at their median time."""
    seconds = median(run.steps.seconds for run in group)
    return replace(group[0], steps=replace(group[0].steps, seconds=seconds))


def _error(run: MeasuredRun, values: Mapping[str, float]) -> float:
    return predicted_seconds(run, values) / run.steps.seconds - 1


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


def _contradicting(groups: Sequence[Sequence[MeasuredRun]]) -> list[Diagnostic]:
    """A complaint for each two runs of one layout whose times differ by more than their noise."""
    found = []
    for one, other in (pair for group in groups for pair in combinations(group, 2)):
        noise = max(NOISE, DEVIATIONS * hypot(one.steps.spread, other.steps.spread))
        times = sorted((one.steps.seconds, other.steps.seconds))
        if times[1] / times[0] - 1 > noise:
            message = (
                f"`{one.path}` and `{other.path}` ran the same layout in {one.steps.seconds:.4g} s "
                f"and {other.steps.seconds:.4g} s"
            )
            help = f"find out which is wrong; {noise:.0%} apart would pass for noise"
            found.append(Diagnostic(CONTRADICTORY, message, help=help))
    return found


def _nothing_identifiable(parameters: Sequence[FittedParameter]) -> list[Diagnostic]:
    if any(found.identifiable for found in parameters):
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
