"""Jobs, folders of `parc compile`, and launch files -> whether one resumes the other's checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parc.dsl.diagnostics import Diagnostic, JobError, Note

from . import codes
from .printing.plan_json import estimate_json
from .saved_checkpoints import checkpoint_side, is_checkpoint, joined
from .subjects import MANIFEST, files_of, plan_file, plans_in

if TYPE_CHECKING:
    from parc.backends.resume import Saved, Verdict
    from parc.compiler.plan import Plan
    from parc.lint.facts.launched_job import LaunchedJob

#: Sizes by which two sides train another model, as facts name them.
SIZES = ("layers", "hidden", "heads", "experts")


@dataclass(frozen=True)
class Side:
    """A run that saves or resumes, the model's sizes as far as the files say them, and the settings that
    decide the training, empty without a run.json."""

    saved: Saved
    sizes: Mapping[str, int]
    decided: Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """How sides are read: the target of jobs and folders, their best unless named; overrides of jobs, and the
    environment of scripts; the folder of the old side's checkpoints, where it is at hand."""

    target: str | None = None
    overrides: Sequence[str] = ()
    environment: Mapping[str, str] | None = None
    checkpoint: str | None = None


def verdict(old: str, new: str, asked: Asked) -> Verdict:
    """Whether what `new` names resumes the checkpoints of what `old` names.

    Raises JobError with the complaints about both.
    """
    sides: list[Side] = []
    complaints: list[Diagnostic] = []
    for path in (old, new):
        try:
            side = _side(path, asked, sides[0].saved.framework if sides else None)
            if asked.checkpoint is not None and path is old:
                side = joined(side, asked.checkpoint)
            sides.append(side)
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError(complaints)
    return judged_sides(*sides)


def judged_sides(old: Side, new: Side) -> Verdict:
    from parc.backends import BACKENDS
    from parc.backends.resume import Verdict, judged

    if problem := _problem(old, new):
        return Verdict(old.saved, new.saved, (), problem=problem)
    return judged(old.saved, new.saved, BACKENDS[old.saved.framework].resume)


def _problem(old: Side, new: Side) -> str:
    """Why no change of layout is at hand: another framework, another model, or another training."""
    before, after = old.saved.framework, new.saved.framework
    if before != after:
        return f"{after} does not read checkpoints of {before}"
    for name in SIZES:
        if name in old.sizes and name in new.sizes and old.sizes[name] != new.sizes[name]:
            return f"another model: {name} {old.sizes[name]}, then {new.sizes[name]}"
    if old.decided and new.decided and old.decided != new.decided:
        named = _differences(old.decided, new.decided)
        refused = "a start in OLD's folder is refused, and with ANY_RUN=1 goes on with its weights"
        return f"another training, {named}: {refused}"
    return ""


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The first settings that differ, with both values."""
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    told = [f"{name} {old.get(name, 'unset')}, then {new.get(name, 'unset')}" for name in names[:3]]
    return "; ".join(told) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _side(path: str, asked: Asked, like: str | None) -> Side:
    """One side; without a target that is asked for, `like` is taken where there is one of it."""
    if path.endswith(".par"):
        return _of_job(path, asked, like)
    if (file := plan_file(path)) is not None:
        plans, _ = plans_in(file)
        target = _chosen(plans, asked.target, like, str(file))
        return side_of_plan(path, target, plans[target], files_of(file.parent, target))
    if is_checkpoint(path):
        return checkpoint_side(path)
    from .launched import one_launch

    return _of_launch(path, one_launch([path], asked.environment or {}), {})


def _chosen(plans: Mapping[str, object], asked: str | None, like: str | None, where: str) -> str:
    if asked is not None and asked not in plans:
        help_text = f"it has {', '.join(plans)}"
        message = f"`{where}` has no plan for `{asked}`"
        raise JobError([Diagnostic(codes.NO_PLAN, message, help=help_text)])
    return asked or (like if like in plans else None) or next(iter(plans))


def _of_job(path: str, asked: Asked, like: str | None) -> Side:
    from parc.compiler.stages import refuse_stages

    from .api import load, plan_targets

    job = load(path, asked.overrides)
    refuse_stages(job)
    known = [spec.name for spec in job.targets]
    wanted = asked.target or (like if like in known else None)
    planned = plan_targets(job, [wanted] if wanted else None)
    if not planned.plans:
        raise JobError([complaint for _, complaint in planned.complaints])
    return side_of(planned.plans[0], path)


def side_of(plan: Plan, name: str) -> Side:
    """The side of a plan that is at hand."""
    from .api import Planned, emit

    _, emitted = emit(Planned(plan.job, (plan,)))
    return side_of_plan(name, plan.target, estimate_json(plan.estimate), emitted.files)


def side_of_plan(name: str, target: str, plan: Mapping[str, Any], files: Mapping[str, str]) -> Side:
    """The side of a plan as `plan.json` has it, and of its target's files."""
    from parc.backends.launch_files import read_jobs
    from parc.backends.run_folder import run_in
    from parc.lint.facts.launched_job import LaunchedJob

    own = {path: text for path, text in files.items() if path.startswith(f"{target}/")}
    configs = [config for config in read_jobs(own) if config.framework == target]
    if not configs:
        message = f"`{name}` has no files of {target} that start training"
        help_text = "`parc compile` writes them"
        raise JobError([Diagnostic(codes.NO_RUN, message, help=help_text)])
    layout = {key: value for key, value in plan["layout"].items() if type(value) is int}
    layout["dp"] = layout.get("dp_replicate", 1) * layout.get("dp_shard", 1)
    run = run_in(own, target)
    side = _of_launch(name, LaunchedJob(configs[0]), layout)
    saved = replace(
        side.saved, folder=f"{run.pop('run', '')}-{run.pop('digest', '')}" if run else ""
    )
    return replace(side, saved=saved, decided=run)


def _of_launch(name: str, launch: LaunchedJob, layout: Mapping[str, int]) -> Side:
    """The side of launch files, whose facts are the layout where no plan is at hand."""
    from parc.backends import BACKENDS
    from parc.lint.facts.resumed import saved_by

    framework = launch.framework
    if framework is None or framework not in BACKENDS:
        message = f"`{name}` starts no framework whose checkpoints parc knows"
        help_text = f"it knows those of {', '.join(BACKENDS)}"
        raise JobError([Diagnostic(codes.NO_RUN, message, help=help_text)])
    saved = saved_by(launch, framework, name, layout)
    sizes = ((size, launch.number(size)) for size in SIZES)
    return Side(saved, {size: number for size, number in sizes if number is not None}, {})


def broken_resumes(
    earlier: Path, plans: Iterable[Plan], emitted: Mapping[str, str]
) -> list[Diagnostic]:
    """A warning for each target whose run would not go on with the new files: one whose checkpoints are in
    its folder below the current one, else one of the files that are in the folder `earlier`. None where
    another model or another target was there, or no plan."""
    before: Mapping[str, Any] = {}
    with suppress(JobError):
        if (earlier / MANIFEST).is_file():
            before, _ = plans_in(earlier / MANIFEST)
    found: list[Diagnostic] = []
    for plan in plans:
        if not plan.job.saves(plan.target):
            continue
        with suppress(JobError):
            old = _saved_by(plan)
            if old is None and (known := before.get(plan.target)):
                files = files_of(earlier, plan.target)
                old = side_of_plan(str(earlier), plan.target, known, files)
            if old is not None:
                new = side_of_plan(plan.target, plan.target, estimate_json(plan.estimate), emitted)
                found += _warned(judged_sides(old, new), plan)
    return found


def _saved_by(plan: Plan) -> Side | None:
    """The newest checkpoint of a plan's run, where a start from the current folder would find it."""
    from parc.backends import TARGETS

    for folder in TARGETS[plan.target].target.checkpoints(plan.job).values():
        path = folder.replace("$RUN_DIR", f"runs/{plan.run.folder}")
        if is_checkpoint(path):
            return checkpoint_side(path)
    return None


def _warned(verdict: Verdict, plan: Plan) -> Iterator[Diagnostic]:
    """Layouts of one model, of which the second one does not go on where the first one saved."""
    stopped = [change for change in verdict.changes if change.row is None or change.row.stops]
    if verdict.problem or not stopped:
        return
    named = ", ".join(f"{change.name} {change.old} → {change.new}" for change in stopped)
    cures = [f"{cure.text}: {cure.why}" for cure in verdict.cures]
    before = verdict.old.name
    if verdict.old.step is None:
        run, asks = (
            f"a run of `{before}` would",
            f"`parc reshape` of a copy of `{before}` and the job",
        )
    else:
        run, asks = f"the run at `{before}` does", f"`parc reshape {before} {plan.job.path}`"
    yield Diagnostic(
        codes.NOT_RESUMED,
        f"{plan.target}: {run} not go on in this layout ({named})",
        plan.job.span("target", plan.target),
        notes=tuple(Note(change.row.stops) for change in stopped[:1] if change.row),
        help="; or ".join([*cures[:1], f"{asks} tells all"]),
        severity="warning",
    )
