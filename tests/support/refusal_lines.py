"""The lines that refusals print, typed into the job that was refused."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from parc.compiler.target import Refusal, Target
from parc.dsl.evaluation.dependent_settings import OF_ROPE_SCALING
from parc.dsl.job import Job


def assert_lines_clear(target: Target, job: Job) -> None:
    """Each refusal of the job has a line that clears it, or says who does."""
    for refusal in target.refusals:
        if refusal.asked(job) is None:
            continue
        line, help = refusal.settings(job), refusal.cure(job)
        if line:
            assert f"`{refusal.block or refusal.path[0]} {{ {line} }}`: " in help
            assert refusal.asked(typed(job, refusal)) is None, help
        else:
            assert "`target " in help or "`cluster from " in help


def typed(job: Job, refusal: Refusal) -> Job:
    """The job with the line of a refusal in its block."""
    block, _, target = (refusal.block or refusal.path[0]).partition(" ")
    changes = dict(each.split(" = ") for each in refusal.settings(job).split("; "))
    if block == "target":
        specs = [
            (
                spec.model_copy(update={"options": _changed(spec.options, changes)})
                if spec.name == target
                else spec
            )
            for spec in job.targets
        ]
        return job.model_copy(update={"targets": tuple(specs)})
    return job.model_copy(update={block: _changed(getattr(job, block), changes)})


def _changed(block: BaseModel, changes: dict[str, str]) -> BaseModel:
    values = {key: value.strip('"') for key, value in changes.items()}
    given: dict[str, Any] = block.model_dump(exclude_unset=True)
    if "rope_scaling" in values:
        given = {key: value for key, value in given.items() if key not in OF_ROPE_SCALING}
    taken_out = {key: None if value == "none" else value for key, value in values.items()}
    try:
        return type(block).model_validate({**given, **taken_out})
    except ValidationError:  # where `none` is a word
        return type(block).model_validate({**given, **values})
