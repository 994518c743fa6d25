"""Names to compare -> `Subject`: a job, which is solved, a written plan, or launch files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import bytes_of, reason_of

from . import codes
from .printing.plan_json import JsonObject, estimate_json, measured_json, peak_json

if TYPE_CHECKING:
    from parc.dsl.hardware import Cluster
    from parc.dsl.job import Job
    from parc.lint.facts.launched_job import LaunchedJob
    from parc.reading.facts import LaunchConfig

MANIFEST = "plan.json"
#: Bytes of the largest plan that is read: a hundred times that of the largest example.
LARGEST = 16 * 2**20


@dataclass(frozen=True)
class Subject:
    """One side of a comparison. `estimate` is as `parc estimate --json` has it, None where nothing tells what
    the files cost, for the reason `unpriced`. `settings` are what the framework is given, by name, and `peak`
    what the MFU is a share of, None where a plan was written before it told.
    """

    name: str
    kind: str
    target: str
    estimate: JsonObject | None
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    peak: JsonObject | None = None


@dataclass(frozen=True)
class Asked:
    """How subjects are read: the target of jobs and plans, their best unless named; overrides of jobs; the
    environment of scripts, and the cluster that they run on where no job is compared."""

    target: str | None
    overrides: Sequence[str]
    environment: Mapping[str, str]
    cluster: Cluster | None


def subjects(paths: Sequence[str], asked: Asked) -> list[Subject]:
    """The subjects in order. Launch files are priced on the first job that is named.

    Raises JobError with the complaints about all of them.
    """
    found: dict[str, Subject] = {}
    complaints: list[Diagnostic] = []
    priced_on: Job | None = None
    for path in sorted(paths, key=lambda path: not _is_job(path)):
        try:
            if _is_job(path):
                found[path], job = _of_job(path, asked)
                priced_on = priced_on or job
            elif (plan := plan_file(path)) is not None:
                found[path] = _of_plan(path, plan, asked)
            else:
                found[path] = _of_launch(path, asked, priced_on)
        except JobError as error:
            complaints += error.diagnostics
    if complaints:
        raise JobError(complaints)
    return [found[path] for path in paths]


def _is_job(path: str) -> bool:
    return path.endswith(".par")


def _of_job(path: str, asked: Asked) -> tuple[Subject, Job]:
    from .api import load

    job = load(path, asked.overrides)
    return subject_of(job, path, asked.target), job


def subject_of(job: Job, name: str, target: str | None = None) -> Subject:
    """A job, solved for one target or for its best. Raises `JobError` where no target has a layout."""
    from .api import Planned, emit, plan_targets

    planned = plan_targets(job, [target] if target else None)
    if not planned.plans:
        raise JobError([complaint for _, complaint in planned.complaints])
    plan = planned.plans[0]
    _, emitted = emit(Planned(job, (plan,)))
    settings = _settings_below(plan.target, emitted.files)
    priced = {**estimate_json(plan.estimate), **measured_json(plan.measured)}
    return Subject(name, "job", plan.target, priced, settings, peak=peak_json(plan.job))


def plan_file(path: str) -> Path | None:
    """The plan that a path names: a file of that name, or one in a folder."""
    place = Path(path)
    if place.name == MANIFEST:
        return place
    return place / MANIFEST if (place / MANIFEST).is_file() else None


def _of_plan(path: str, file: Path, asked: Asked) -> Subject:
    plans, peak = plans_in(file)
    chosen = asked.target or next(iter(plans))
    if chosen not in plans:
        help_text = f"it has {', '.join(plans)}"
        raise JobError([_no_plan(file, f"has no plan for `{chosen}`", help_text)])
    settings = _settings_below(chosen, files_of(file.parent, chosen))
    return Subject(path, "plan", chosen, plans[chosen], settings, peak=peak)


def files_of(path: Path, target: str) -> dict[str, str]:
    """The launch files of a target beside a plan, whatever target the plan names: plain files below its
    folder, through no link."""
    from .writing.folder import folder_at

    texts: dict[str, str] = {}
    with suppress(OSError, ValueError), folder_at(path) as folder, folder.below(target) as below:
        for name in sorted(os.listdir(below.number)):
            with suppress(OSError, ValueError):
                content = below.read(name)
                texts[f"{target}/{name}"] = (content or b"").decode(errors="replace")
    return texts


def plans_in(file: Path) -> tuple[dict[str, JsonObject], JsonObject | None]:
    """The plans of a `plan.json` by target, the best first, and the peak that their MFU is of, None where the
    file does not tell. Raises JobError where it is none."""
    try:
        value: Any = json.loads(bytes_of(str(file), LARGEST))
        found = {str(plan["target"]): plan for plan in value["plans"]}
        whole = all(
            plan.keys() >= NEEDED
            and isinstance(plan["layout"], dict)
            and isinstance(plan.get("measured") or {}, dict)
            for plan in found.values()
        )
    except OSError as error:
        raise JobError([_no_plan(file, f"cannot be read: {reason_of(error)}")]) from None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        found, whole = {}, False
    if not found or not whole:
        raise JobError([_no_plan(file, "holds no plan of parc")])
    job = value.get("job")
    return found, _peak(job.get("peak") if isinstance(job, dict) else None)


def _peak(found: Any) -> JsonObject | None:
    """The peak of a file, where it has the shape of one."""
    if not isinstance(found, dict) or not isinstance(found.get("precision"), str):
        return None
    return found if isinstance(found.get("flops"), int | float) else None


#: What a plan must have to be compared.
NEEDED = {"layout", "step_seconds", "mfu", "memory_bytes", "gpus", "time", "stages"}


def _no_plan(file: Path, what: str, help_text: str = "`parc compile` writes one") -> Diagnostic:
    return Diagnostic(codes.NO_PLAN, f"`{file}` {what}", help=help_text)


def _of_launch(path: str, asked: Asked, job: Job | None) -> Subject:
    from .launched import one_launch

    launch = one_launch([path], asked.environment)
    try:
        price, peak, notes = _price(launch, asked, job)
    except JobError as error:
        price, peak, notes = None, None, [found.message for found in error.diagnostics]
    return Subject(
        name=path,
        kind="launch files",
        target=launch.framework or "unknown",
        estimate=price,
        settings=settings_of([launch.config]),
        notes=tuple(notes),
        peak=peak,
    )


def _price(
    launch: LaunchedJob, asked: Asked, job: Job | None
) -> tuple[JsonObject | None, JsonObject | None, list[str]]:
    """The price of launch files on a job, or on what they say themselves, the peak that its MFU is of, and
    what to know of it."""
    from parc.backends import BACKENDS
    from parc.compiler import estimate
    from parc.lint.facts.job_blocks import described_job

    from .api import measured
    from .launched import layout_on, other_batch

    if launch.framework is None or launch.framework not in BACKENDS:
        return None, None, ["no price: nothing tells the framework"]
    on = job or (described_job(launch, asked.cluster) if asked.cluster else None)
    if on is None and asked.cluster is None:
        return None, None, ["no price: name a job too, or the cluster with --cluster"]
    if on is None:
        return None, None, ["no price: the files do not say enough of the model and its batch"]
    target = BACKENDS[launch.framework].target
    on = _with_target(on, launch.framework)
    price = estimate(on, target, layout_on(launch, on))
    priced = {**estimate_json(price), **measured_json(measured(on, launch.framework, price))}
    return priced, peak_json(on), [found.message for found in other_batch(launch, on)]


def _with_target(job: Job, name: str) -> Job:
    """The job, with a plain target of that name where it has none."""
    from parc.backends import BACKENDS
    from parc.dsl.job import TargetSpec

    if any(spec.name == name for spec in job.targets):
        return job
    spec = TargetSpec(name=name, options=BACKENDS[name].target.options())
    return job.model_copy(update={"targets": (*job.targets, spec)})


def _settings_below(target: str, files: Mapping[str, str]) -> dict[str, str]:
    """The settings that the framework is given by the files of one target's folder."""
    from parc.backends.launch_files import read_jobs

    own = {path: text for path, text in files.items() if path.startswith(f"{target}{os.sep}")}
    return settings_of(read_jobs(own))


def settings_of(configs: Iterable[LaunchConfig]) -> dict[str, str]:
    """Settings by name; those of sbatch and the environment behind their scope. A switch is `yes`."""
    from parc.reading.facts import Unknown

    found: dict[str, str] = {}
    for config in configs:
        for each in config.settings:
            scope = f"{each.scope} " if each.scope in ("sbatch", "environment", "launcher") else ""
            values = ("?" if isinstance(value, Unknown) else str(value) for value in each.values)
            found[f"{scope}{each.name}"] = " ".join(values) or "yes"
    return found
