"""Logs and their jobs -> the fitted site, errors before and after, and what of it is not to be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot

from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.hardware import Cluster
from ..dsl.job import Job
from .codes import CONTRADICTORY, TOO_FEW, UNSTEADY
from .job_of_log import cluster_of, run_of
from .log_files import counted
from .measured_run import MeasuredRun
from .site import FittedSite, fit_site, predicted_seconds, with_measured
from .trial_files import left_out, logs_of

#: Two runs of one layout contradict each other when they differ by more than this share of a step, and by
#: more than this many of their own standard deviations.
NOISE, DEVIATIONS = 0.05, 3.0
#: What a run counts when others outvote it: it is three times as far off as usual.
OUTVOTED = 0.2


@dataclass(frozen=True)
class Compared:
    """One run: predicted over measured time, less 1, with the values before and with the fitted ones."""

    run: MeasuredRun
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """`different` counts layouts and batches. `warnings` say what of it is less sure than a reader would
    think."""

    jobs: tuple[Job, ...]
    compared: tuple[Compared, ...]
    different: int
    site: FittedSite
    warnings: tuple[Diagnostic, ...]


def calibrate(
    jobs: Sequence[Job],
    logs: Sequence[tuple[str, Job | None]],
    layouts: Mapping[str, Mapping[str, int]],
) -> Calibration:
    """Fits the parameters of the jobs' cluster to `logs`: paths, each with its job, or None where it is that
    of `jobs` which the log is of.

    A path may be a folder of trials (trials.py). `layouts` gives degrees by log, those of all logs under "".
    Raises JobError for jobs of several clusters and for logs that cannot be used:
    unreadable, of another framework or job, without a layout; of a trial there is a warning where others can.
    """
    everything = [*jobs, *(own for _, own in logs if own is not None and own not in jobs)]
    before = cluster_of(everything)
    runs, left = _runs(jobs, logs, layouts)
    groups = _groups(runs)
    site = with_measured(fit_site(before, groups), groups)
    compared = tuple(Compared(run, _error(run, before), _error(run, site.cluster)) for run in runs)
    warnings = (
        *left,
        *_two_paces(runs),
        *_few(groups, len(runs)),
        *_contradicting(groups),
        *_outvoted(groups, site),
    )
    return Calibration(tuple(everything), compared, len(groups), site, warnings)


def _runs(
    jobs: Sequence[Job],
    logs: Sequence[tuple[str, Job | None]],
    layouts: Mapping[str, Mapping[str, int]],
) -> tuple[list[MeasuredRun], list[Diagnostic]]:
    """The run of each log, and warnings of trials that are left out."""
    runs: list[MeasuredRun] = []
    complaints: list[Diagnostic] = []
    left: list[Diagnostic] = []
    count = 0
    for given, own in logs:
        paths, known, trials = logs_of([given], layouts)
        count += len(paths)
        for path in paths:
            try:
                layout = known.get(path, known.get("", {}))
                runs.append(run_of(path, [own] if own else jobs, layout))
            except JobError as error:
                if path in trials:
                    left.append(left_out(path, error.diagnostics[0]))
                else:
                    complaints += error.diagnostics
    if complaints or not runs:
        raise JobError([*complaints, *left, counted(count - len(runs), count)])
    return runs, left


def _groups(runs: Sequence[MeasuredRun]) -> list[list[MeasuredRun]]:
    """Runs of one layout and batch together."""
    groups: dict[tuple[object, ...], list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    return list(groups.values())


def _error(run: MeasuredRun, cluster: Cluster) -> float:
    return predicted_seconds(run, cluster) / run.steps.seconds - 1


def _two_paces(runs: Sequence[MeasuredRun]) -> list[Diagnostic]:
    found = []
    for run in runs:
        steps = run.steps
        if steps.odd:
            message = (
                f"`{run.path}` has two paces: {steps.odd} of {steps.reports} reports take about "
                f"{steps.odd_seconds:.4g} s, its step counts as {steps.seconds:.4g} s"
            )
            help = (
                "cut the log to the part that is like the job, or measure while nothing else runs"
            )
            found.append(Diagnostic(UNSTEADY, message, severity="warning", help=help))
    return found


def _few(groups: Sequence[object], runs: int) -> list[Diagnostic]:
    if len(groups) > 1:
        return []
    what = "1 run" if runs == 1 else f"{runs} runs of one layout and batch"
    message = f"{what} cannot tell what is slow from what else is: all of it moves a little"
    help = (
        "measure another layout: other tp, pp or micro-batch, another sequence length or more nodes"
    )
    return [Diagnostic(TOO_FEW, message, severity="warning", help=help)]


def _contradicting(groups: Sequence[Sequence[MeasuredRun]]) -> list[Diagnostic]:
    """A complaint for each layout of which runs differ by more than their noise: of the two that do most."""
    found = []
    for group in groups:
        pairs = [pair for pair in combinations(group, 2) if _apart(*pair) > _noise(*pair)]
        if pairs:
            one, other = max(pairs, key=lambda pair: _apart(*pair) / _noise(*pair))
            more = f"; {len(pairs) - 1} more pairs differ so" if len(pairs) > 1 else ""
            message = (
                f"`{one.path}` and `{other.path}` ran the same layout in {one.steps.seconds:.4g} s "
                f"and {other.steps.seconds:.4g} s{more}"
            )
            help = f"find out which is wrong; {_noise(one, other):.0%} apart would pass for noise"
            found.append(Diagnostic(CONTRADICTORY, message, severity="warning", help=help))
    return found


def _apart(one: MeasuredRun, other: MeasuredRun) -> float:
    less, more = sorted((one.steps.seconds, other.steps.seconds))
    return more / less - 1


def _noise(one: MeasuredRun, other: MeasuredRun) -> float:
    return max(NOISE, DEVIATIONS * hypot(one.steps.spread, other.steps.spread))


def _outvoted(groups: Sequence[Sequence[MeasuredRun]], site: FittedSite) -> list[Diagnostic]:
    """A warning for each layout that no cluster explains beside the others."""
    found = []
    for group, count in zip(groups, site.counts, strict=True):
        if count < OUTVOTED:
            error = _error(group[0], site.cluster)
            message = (
                f"`{group[0].path}` is {error:+.0%} off at best: it counts {count:.0%} of a run"
            )
            help = "check that it is of this job, cluster and layout, or leave it out"
            found.append(Diagnostic(CONTRADICTORY, message, severity="warning", help=help))
    return found
