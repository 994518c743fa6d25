"""A user's choices -> the first job, checked against weights and by targets, and its canonical text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from parc.backends import BACKENDS
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
from .targets import ChosenTargets, changes, chosen_targets


def first_job(
    model: ChosenModel,
    gpus: ChosenGpus | None,
    targets: Iterable[str] | None,
    launch: str | None = None,
) -> tuple[FirstJob, str]:
    """The job with its text. Without GPUs there are as many as the model needs; without targets there are all
    that train the model; `launch` names the launcher. Raises `JobError` where no target trains the model.
    """
    wanted = tuple(dict.fromkeys(targets or BACKENDS))
    untried = FirstJob(
        model,
        gpus or enough_gpus(model.parameters(model.positions or 1)),
        ChosenTargets(wanted, {}, {}),
        counted(model),
        launch,
    )

    def job_without(left_out: Collection[str]) -> Job:
        return _loaded(job_text(untried, left_out))

    _refuse_unsound(model, job_text(untried))
    chosen = untried.with_targets(chosen_targets(job_without, wanted))
    if not chosen.targets.names and model.base:
        chosen = _changed(untried, wanted) or chosen
    if not chosen.targets.names:
        raise JobError(_untrained(chosen))
    text = draft([job_text(chosen, chosen.targets.left_out)])
    _loaded(text)
    return chosen, text


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
    return job.with_targets(replace(targets, changed=reasons))


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
    return [
        Diagnostic(
            codes.GPUS, f"{where}: {said}", help=f"for example `--gpus {job.gpus.count}xH100`"
        )
    ]


_HELP = "take the file from the model's own page"


def _loaded(text: str) -> Job:
    return loads(text, targets={name: backend.target.options for name, backend in BACKENDS.items()})
