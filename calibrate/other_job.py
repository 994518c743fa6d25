"""A log and a job -> the reasons why the log is of another one: sizes that it states, what it announces."""

from collections.abc import Iterable

from ..backends.log import RunLog
from ..compiler.model import parameters
from ..compiler.run import step_digest
from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job
from ..dsl.model import Model
from .codes import OTHER_JOB

#: Share by which a framework's count of parameters may differ from the job's: a padded vocabulary, buffers.
COUNTED = 0.02
#: Settings of a model that a log of a mixture of experts states in another way.
DENSE_ONLY = {"ffn"}


def of_another_job(path: str, log: RunLog, job: Job) -> list[Diagnostic]:
    """A complaint for each size of the model that is not the job's, else one where the log announces another
    job; none where it may be a run of this one."""
    return list(_other_sizes(path, log, job)) or list(_other_steps(path, log, job))


def _other_sizes(path: str, log: RunLog, job: Job) -> Iterable[Diagnostic]:
    for name, value in log.model.items():
        expected = _size(job.model, name)
        if value != expected and not (job.model.moe and name in DENSE_ONLY):
            message = (
                f"{_whose(path, log)} is of a model with {name} {value}, the job's has {expected}"
            )
            yield Diagnostic(OTHER_JOB, message, job.span("model", name), help=_cure(path))
    total = parameters.total(job.model, seq_len=job.train.seq_len)
    if log.parameters and not log.model and abs(log.parameters / total - 1) > COUNTED:
        message = (
            f"{_whose(path, log)} is of a model with {log.parameters:,} parameters, the job's has "
            f"{total:,}"
        )
        yield Diagnostic(OTHER_JOB, message, job.span("model"), help=_cure(path))


def _other_steps(path: str, log: RunLog, job: Job) -> Iterable[Diagnostic]:
    """Batch, length and what else the log states may be others than the job's, and so may `compile`, which a
    job can leave open."""
    if log.announced is None:
        return
    sizes = {name: log.train[name] for name in ("seq_len", "global_batch") if name in log.train}
    possible = (
        job.model_copy(update={"train": job.train.model_copy(update={**stated, "compile": word})})
        for stated in ({}, sizes, log.train)
        for word in (False, True)
    )
    if log.announced.step_digest not in map(step_digest, possible):
        message = (
            f"{_whose(path, log)} is of another job than {job.path}: model, precision, optimizer or "
            "attention differ"
        )
        yield Diagnostic(OTHER_JOB, message, help=_cure(path))


def _whose(path: str, log: RunLog) -> str:
    return f"`{path}`" + (f", run {log.announced.run}," if log.announced else "")


def _cure(path: str) -> str:
    return (
        "name the job that ran, with the --set that it was compiled with: "
        f"`parc calibrate {path}=JOB.par ...`, `parc explain JOB.par --log {path}`"
    )


def _size(model: Model, name: str) -> int:
    return model.groups if name == "kv_heads" else int(getattr(model, name))
