"""A launch and the job that it is meant for -> the facts that the job states otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from ...dsl.job import Job
from ...reading.facts import Value
from .launched_job import LaunchedJob

#: Fact -> the block of the job that states it under the same name.
STATED = {
    **dict.fromkeys(("layers", "hidden", "heads", "kv_heads", "experts"), "model"),
    **dict.fromkeys(("seq_len", "global_batch", "precision"), "train"),
    **dict.fromkeys(("gpus_per_node", "nodes"), "cluster"),
}


def differing(launch: LaunchedJob, job: Job) -> Iterator[tuple[str, Value, tuple[Value, ...]]]:
    """The name of each fact that differs, its value in the files, and the values that the job allows."""
    for name in STATED:
        value, wanted = launch.value(name), _wanted(job, name)
        if value is not None and value not in wanted:
            yield name, value, wanted


def meant_stage(launch: LaunchedJob, job: Job) -> Job:
    """The stage of a job from which the files differ least, the first of equals; a job without stages itself.
    Files do not say which stage they are of."""
    stages = job.stages or (job,)
    return min(stages, key=lambda stage: sum(1 for _ in differing(launch, stage)))


def _wanted(job: Job, name: str) -> tuple[Value, ...]:
    if name == "kv_heads":
        return (job.model.heads if job.model.mla else job.model.groups,)
    value = getattr(getattr(job, STATED[name]), name)
    return value if name == "nodes" else (value,)
