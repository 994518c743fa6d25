"""The Python API: job file -> `Job` -> plans of its targets -> the files of an output folder.

`parc` offers `load`, `compile` and `estimate` from here; `parc.lint` is a package that can be called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

from parc import compiler
from parc.backends import BACKENDS, LAUNCHERS, OPTIONS, TARGETS
from parc.compiler import Progress
from parc.compiler.checkpoints import crowded
from parc.compiler.plan import Estimate, Measured, Plan
from parc.compiler.target import warnings as warnings_of
from parc.dsl import load as read_job
from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
from parc.dsl.job import Job

from . import codes
from .ranking import ranked

if TYPE_CHECKING:
    from parc.compiler.explain.explaining import Explanation
    from parc.compiler.schedule.timeline import Timeline
    from parc.compiler.search.sweep import Swept

#: Called with the state of a search, whose text says what is being solved; the context lasts while it is.
Shown = Callable[[Progress], AbstractContextManager[object]]


def load(path: str | PathLike[str], overrides: Iterable[str] = ()) -> Job:
    """The job that a file describes; `overrides` are texts such as "train.seq_len=4096".

    Raises `JobError` with every complaint about the file.
    """
    job = read_job(path, tuple(overrides), OPTIONS)
    return job.model_copy(update={"stages": tuple(_one_after_another(job.stages))})


def _one_after_another(stages: Iterable[Job]) -> Iterator[Job]:
    """The stages with their own folders; each knows the one whose weights it begins with."""
    previous: Job | None = None
    for stage in map(with_own_folders, stages):
        begins = {} if stage.train.weights is not None else {"previous": previous}
        previous = stage.model_copy(update=begins)
        yield previous


def with_own_folders(stage: Job) -> Job:
    """A stage whose checkpoints are in a folder of its own: in that of another one it would resume that."""
    specs = []
    for spec in stage.targets:
        folders = TARGETS[spec.name].target.checkpoints(stage)
        own = {
            option: f"{folder}/{stage.stage}"
            for option, folder in folders.items()
            if not folder.startswith("$RUN_DIR")  # which names the stage
        }
        specs.append(spec.model_copy(update={"options": spec.options.model_copy(update=own)}))
    return stage.model_copy(update={"targets": tuple(specs)})


def stages_of(job: Job) -> tuple[Job, ...]:
    """The stages of a job, each a job that has plans; the job itself where it has none."""
    return job.stages or (job,)


def compile(job: Job, targets: Iterable[str] | None = None) -> list[Plan]:
    """The best plan of each target (those of the job unless named), the best target first. A job of several
    stages has plans of each of its `stages`.

    Raises `JobError` when no target has a layout; a target without one is left out while another has one.
    """
    planned = plan_targets(job, targets)
    if not planned.plans:
        raise JobError([complaint for _, complaint in planned.complaints])
    return list(planned.plans)


def estimate(job: Job, layout: Mapping[str, int | str], target: str) -> Estimate:
    """The price of one given layout, such as `{"tp": 8, "recompute": "full"}`; degrees that it leaves out are
    1 or follow from the others.

    Raises `JobError` naming each rule that the layout breaks, each value that is none, and an unknown target.
    """
    if target not in TARGETS:
        help = did_you_mean(target, TARGETS) or f"there are {', '.join(TARGETS)}"
        raise JobError([Diagnostic(codes.NO_TARGET, f"no target is called `{target}`", help=help)])
    return compiler.estimate(job, TARGETS[target].target, layout)


def measured(job: Job, target: str, priced: Estimate) -> Measured | None:
    """The outcome that runs on the job's cluster tell of a priced layout, as `Plan.measured` has it of the
    chosen one; None where none of the target ran there.

    Raises `JobError` for a text of `cluster.measured` that names no layout.
    """
    from parc.compiler.case import Case
    from parc.compiler.search.measured_layouts import outcome

    return outcome(Case(job, TARGETS[target].target), priced.layout.model_dump())


def explain_plan(plan: Plan, known: Swept | None = None) -> Explanation:
    """Why a plan is what it is, and what would change it; `known` is of `Planned.whole`, and spares time."""
    from parc.compiler.explain.explaining import explain

    return explain(plan, TARGETS[plan.target].target, known)


def step_timeline(
    job: Job, target: str, estimate: Estimate, schedule: str | None = None, shown: int | None = None
) -> Timeline:
    """The passes of each pipeline rank in a step of an estimate, or in its `shown` first micro-batches; in
    the order of the layout, or of another schedule of `compiler/schedule/orders.py`."""
    from parc.compiler.case import Case
    from parc.compiler.schedule.timeline import timeline

    return timeline(Case(job, TARGETS[target].target), estimate, schedule, shown)


@dataclass(frozen=True)
class Planned:
    """A job with its plans, the best first, and by name the complaints of targets without a plan; where they
    were asked for, by name the layouts that plans were chosen from."""

    job: Job
    plans: tuple[Plan, ...]
    complaints: tuple[tuple[str, Diagnostic], ...] = ()
    whole: Mapping[str, Swept] = field(default_factory=dict, repr=False, compare=False)

    def diagnostics(self) -> list[Diagnostic]:
        """The complaints, as warnings where at least one target has a plan; then the plans' own warnings."""
        complaints = softened((complaint for _, complaint in self.complaints), bool(self.plans))
        return [*complaints, *self.warnings()]

    def warnings(self) -> list[Diagnostic]:
        """Warnings about settings that targets with a plan train otherwise than a reader of the job may
        think, and on which of them it hardly trains."""
        from .slow_targets import slow_targets

        own = [each for plan in self.plans for each in _warnings(plan)]
        return [*own, *(each for _, each in slow_targets(self.plans))]

    def warnings_about(self, plan: Plan) -> list[Diagnostic]:
        """The warnings of one of the plans."""
        from .slow_targets import slow_targets

        slow = [each for target, each in slow_targets(self.plans) if target == plan.target]
        return [*_warnings(plan), *slow]


def _warnings(plan: Plan) -> Iterator[Diagnostic]:
    yield from cautions(plan.job, plan.target)
    yield from crowded(plan.checkpoints)
    if plan.job.launch and plan.target in BACKENDS:
        yield from LAUNCHERS[plan.job.launch.kind].warnings(plan)


def cautions(job: Job, target: str) -> list[Diagnostic]:
    """The warnings of a target about a job, which hold for each of its layouts."""
    return warnings_of(TARGETS[target].target, job)


def softened(complaints: Iterable[Diagnostic], soft: bool) -> list[Diagnostic]:
    """The complaints, as warnings when `soft`: where another target succeeded."""
    return [
        replace(complaint, severity="warning") if soft else complaint for complaint in complaints
    ]


@dataclass(frozen=True)
class Emitted:
    """Files by path below the output folder, and those of them that are scripts to start."""

    files: dict[str, str]
    scripts: frozenset[str]


def plan_targets(
    job: Job,
    names: Iterable[str] | None = None,
    progress: Shown | None = None,
    keep: bool = False,
    fewer: bool = False,
) -> Planned:
    """Solve every target; raises `JobError` for a name that the job does not have. What interrupts it bears
    the best layouts so far as notes. `keep`: keeps what `Planned.whole` has, for whoever asks more of it.
    `fewer`: looks whether fewer nodes would do for the best target, which `Plan.fewer` then tells.
    """
    chosen = target_names(job, names)
    search = Progress(f"{job.name}: {', '.join(chosen)}", keeps=keep)
    with progress(search) if progress else nullcontext():
        try:
            targets = [TARGETS[name].target for name in chosen]
            outcomes = compiler.plan_all(job, targets, search)
            plans = ranked(each for each in outcomes if isinstance(each, Plan))
            if fewer and plans:
                plans = (with_advice(plans[0]), *plans[1:])
        except KeyboardInterrupt as interruption:
            for line in search.best_so_far():
                interruption.add_note(line)
            raise
    complaints = [
        (name, diagnostic)
        for name, outcome in zip(chosen, outcomes, strict=True)
        if isinstance(outcome, JobError)
        for diagnostic in outcome.diagnostics
    ]
    return Planned(job, plans, tuple(complaints), search.whole)


def with_advice(plan: Plan) -> Plan:
    """A plan that tells whether fewer nodes or other settings would do better."""
    target = TARGETS[plan.target].target
    found = compiler.fewer_nodes(plan, target), compiler.worthwhile_settings(plan, target)
    return plan.model_copy(update=dict(zip(("fewer", "worthwhile"), found, strict=True)))


def target_names(job: Job, wanted: Iterable[str] | None) -> list[str]:
    """The names of the job's targets, or those that are wanted. Raises `JobError` for one that it lacks."""
    known = [spec.name for spec in job.targets]
    chosen = list(dict.fromkeys(wanted or known))
    unknown = [
        Diagnostic(
            codes.NO_TARGET,
            f"{job.name} has no target `{name}`",
            help=did_you_mean(name, known) or f"it has {', '.join(known)}",
        )
        for name in chosen
        if name not in known
    ]
    if unknown:
        raise JobError(unknown)
    return chosen


def emit(planned: Planned) -> tuple[Planned, Emitted]:
    """Launch files of every plan; one that its framework or launcher cannot express becomes a complaint."""
    plans: list[Plan] = []
    complaints = list(planned.complaints)
    files: dict[str, str] = {}
    scripts: set[str] = set()
    for plan in planned.plans:
        try:
            files |= _files(plan)
        except JobError as error:
            complaints += [(plan.target, diagnostic) for diagnostic in error.diagnostics]
        else:
            plans.append(plan)
            scripts |= {BACKENDS[plan.target].entry} if plan.target in BACKENDS else set()
    made = replace(planned, plans=tuple(plans), complaints=tuple(complaints))
    return made, Emitted(files, frozenset(scripts))


def _files(plan: Plan) -> dict[str, str]:
    """The files of a framework and of its launcher; none of a target that plans alone."""
    if plan.target not in BACKENDS:
        return {}
    backend = BACKENDS[plan.target]
    files = backend.emit(plan)
    if plan.job.launch is not None:
        files |= LAUNCHERS[plan.job.launch.kind].emit(plan, backend.entry, files)
    return files
