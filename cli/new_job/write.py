"""A user's choices -> the first job, checked against weights and by targets, and its canonical text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from parc.backends import BACKENDS, PLANNED, TARGETS
from parc.dsl import loads
from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.formatting.drafts import draft
from parc.dsl.job import Job
from parc.reading.huggingface.codes import BAD_VALUE

from .. import codes
from .counted import counted
from .first_job import FirstJob
from .gpus import ChosenGpus, enough_gpus
from .job_text import job_text
from .models import ChosenModel
from .targets import ChosenTargets, changes, chosen_targets, needed_blocks
from .training_data import FORMS, TrainingData
from .tuned import Tuned


def first_job(
    model: ChosenModel,
    gpus: ChosenGpus | None,
    targets: Iterable[str] | None,
    launch: str | None = None,
    tuned: Tuned | None = None,
    data: TrainingData | None = None,
) -> tuple[FirstJob, str]:
    """The job with its text. Without GPUs there are as many as the model needs; without targets there are all
    that train the model on `data`; `launch` names the launcher, `tuned` what is fine-tuned. Raises `JobError`
    where no target trains the model.
    """
    offered = (name for name, backend in BACKENDS.items() if tuned or not backend.for_tuning)
    wanted = tuple(dict.fromkeys(targets or offered))
    unread = _unread(wanted, data)
    wanted = tuple(name for name in wanted if name not in unread)
    untried = FirstJob(
        model,
        gpus or enough_gpus(model.parameters(model.positions or 1)),
        ChosenTargets(wanted, {}, {}),
        counted(model),
        launch,
        tuned,
        data,
    )
    _refuse_unsound(model, job_text(untried))
    blocks = needed_blocks(_loaded(job_text(untried)), wanted) if tuned else {}
    untried = untried.with_targets(replace(untried.targets, blocks=blocks))

    def job_without(left_out: Collection[str]) -> Job:
        return _loaded(job_text(untried, left_out))

    chosen = untried.with_targets(_among(job_without, untried, unread))
    if not chosen.targets.names and model.base:
        chosen = _changed(untried, wanted) or chosen
    if not chosen.targets.names and targets is None:
        chosen = _planned_alone(job_without, chosen)
    if not chosen.targets.names:
        raise JobError(_untrained(chosen))
    text = draft([job_text(chosen, chosen.targets.left_out)])
    _loaded(text)
    return chosen, text


def _unread(wanted: Iterable[str], data: TrainingData | None) -> dict[str, str]:
    """Targets that read another form of data, each with the reason."""
    forms = {name: TARGETS[name].reads_data for name in wanted}
    return {
        name: f"it reads {FORMS[form]}, and {data.path} holds {FORMS[data.form]}"
        for name, form in forms.items()
        if data is not None and form and form != data.form
    }


def _among(
    job_without: Callable[[Collection[str]], Job], job: FirstJob, unread: Mapping[str, str]
) -> ChosenTargets:
    """The targets that train the job, beside what is known of those that do not read its data."""
    wanted, blocks = job.targets.names, job.targets.blocks
    found = chosen_targets(job_without, wanted) if wanted else ChosenTargets((), {}, {})
    return replace(found, refused={**found.refused, **unread}, blocks=blocks)


def _planned_alone(job_without: Callable[[Collection[str]], Job], job: FirstJob) -> FirstJob:
    """The job for the targets that plan for no framework, where no framework trains it on these GPUs."""
    found = chosen_targets(job_without, PLANNED)
    refused = job.targets.refused
    return job.with_targets(replace(found, refused=refused)) if found.names else job


def _changed(untried: FirstJob, wanted: Iterable[str]) -> FirstJob | None:
    """The job of a library model with the fewest settings that make a target train it; None without."""

    def job_with(settings: Mapping[str, str]) -> Job:
        return _loaded(job_text(untried.with_settings(settings)))

    changed = changes(job_with, wanted)
    if not changed:
        return None
    job = untried.with_settings({key: value for key, (value, _) in changed.items()})
    targets = chosen_targets(lambda left_out: _loaded(job_text(job, left_out)), wanted)
    reasons = {key: reason for key, (_, reason) in changed.items()}
    return job.with_targets(replace(targets, changed=reasons, blocks=job.targets.blocks))


def _refuse_unsound(model: ChosenModel, text: str) -> None:
    """Raises `JobError` where the language takes no such model, in words about the file that it is from."""
    try:
        _loaded(text)
    except JobError as error:
        found = [
            Diagnostic(BAD_VALUE, f"`{model.source}`: {each.message}", help=each.help or _HELP)
            for each in error.diagnostics
        ]
        raise JobError(found) from None


def _untrained(job: FirstJob) -> list[Diagnostic]:
    """Why no target trains the model on these GPUs."""
    where = f"no target trains `{job.model.name}` on std.{job.gpus.base}"
    said = "; ".join(f"{name}: {why}" for name, why in job.targets.refused.items())
    help = f"for example `--gpus {job.gpus.count}xH100`"
    if job.data is not None and not job.targets.names:
        help = "docs/tuning.md has the lines that make token ids of rows; or leave `--data` out"
    return [Diagnostic(codes.GPUS, f"{where}: {said}", help=help)]


_HELP = "take the file from the model's own page"


def _loaded(text: str) -> Job:
    return loads(text, targets={name: backend.target.options for name, backend in TARGETS.items()})
