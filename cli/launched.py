"""Paths of launch files -> the one job that they start, and its layout on a job of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from . import codes

if TYPE_CHECKING:
    from parc.dsl.job import Job
    from parc.lint.facts.launched_job import LaunchedJob


def one_launch(
    paths: Sequence[str], environment: Mapping[str, str], arguments: Sequence[str] = ()
) -> LaunchedJob:
    """The job that these files start; `arguments` are those of the script.

    Raises JobError for files that cannot be read, and where they start none or several.
    """
    from parc.lint.facts.launched_job import LaunchedJob
    from parc.lint.launch_texts import read_texts
    from parc.lint.run import read_configs

    texts = read_texts(paths)
    if texts.unreadable:
        raise JobError(texts.unreadable)
    configs = read_configs(texts.texts, environment, arguments)
    jobs = [LaunchedJob(config) for config in configs if config.facts and config.settings]
    if len(jobs) != 1:
        raise JobError([_not_one(jobs, texts.texts)])
    return jobs[0]


def _not_one(jobs: Sequence[object], texts: Mapping[str, str]) -> Diagnostic:
    from parc.reading.huggingface.config_settings import model_type

    models = {path: kind for path, text in texts.items() if (kind := model_type(text))}
    if not jobs and models:
        path, kind = next(iter(models.items()))
        message = f"`{path}` is the configuration of a Hugging Face model ({kind}), and starts no training"
        help_text = f"name the script that trains it; `parc import {path}` makes a job of the model"
        return Diagnostic(codes.NO_FILES, message, help=help_text)
    if not jobs:
        message, help_text = "these files start no training", "name the script that does"
    else:
        message, help_text = f"these files start {len(jobs)} jobs", "name the files of one"
    return Diagnostic(codes.NO_FILES, message, help=help_text)


#: Sizes by which a model is known to be another one.
SIZES = ("layers", "hidden", "heads", "experts")
#: What a step's time depends on and a layout does not say.
BATCH = ("seq_len", "global_batch")


def layout_on(launch: LaunchedJob, job: Job) -> dict[str, int]:
    """The decisions of launch files, to be priced on a job.

    Raises JobError where the files train another model, or leave a decision open.
    """
    from parc.backends.reader import Missing
    from parc.lint.priced import layout_of

    if other := _other_model(launch, job):
        raise JobError([other])
    try:
        return layout_of(launch, job)
    except Missing as error:
        message = (
            f"`{launch.path}` does not set {error.name}, without which its layout has no price"
        )
        if error.name == "gpus_per_node":
            message = f"`{launch.path}` is not for nodes of {job.cluster.gpus_per_node} GPUs"
        help_text = "set the variable that decides it with --env, or give the layout itself"
        raise JobError([Diagnostic(codes.LAUNCH_UNSAID, message, help=help_text)]) from None


def _other_model(launch: LaunchedJob, job: Job) -> Diagnostic | None:
    from parc.lint.facts.job_blocks import described_model

    said = described_model(launch)
    for name in SIZES:
        ours = getattr(job.model, name)
        if name in said and ours is not None and said[name] != ours:
            message = (
                f"`{launch.path}` trains a model with {name} {said[name]}, the job's has {ours}"
            )
            return Diagnostic(codes.LAUNCH_MODEL, message, job.span("model", name))
    return None


def other_batch(launch: LaunchedJob, job: Job) -> list[Diagnostic]:
    """Warnings where launch files train on another batch than the job, on whose they are priced."""
    from parc.lint.facts.job_blocks import described_train

    said = described_train(launch)
    return [
        Diagnostic(
            codes.LAUNCH_BATCH,
            f"`{launch.path}` has {name} {said[name]:,}, and is priced with the job's "
            f"{getattr(job.train, name):,}",
            job.span("train", name),
            severity="warning",
            help=f"say `--set train.{name}={said[name]}` to price both with the files'",
        )
        for name in BATCH
        if name in said and said[name] != getattr(job.train, name)
    ]
