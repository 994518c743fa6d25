"""A launch file and the job that it should run -> facts of the stack of which they say different things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...backends import BACKENDS
from ...backends.backend import Backend
from ...backends.stack_facts import Said
from ...dsl.diagnostics import Span
from ...dsl.job import Job, Train
from ...reading.facts import Fact, Setting, Unknown, Value, dashed
from .launched_job import LaunchedJob


@dataclass(frozen=True)
class Drift:
    """A setting of kernels or traffic: what the files say, what the job wants, and both places. None is the
    framework's own choice."""

    setting: str
    found: Value | None
    wanted: Value | None
    at: Fact | Setting
    span: Span | None


def stack_drifts(launch: LaunchedJob, job: Job) -> Iterator[Drift]:
    """Facts that a job of the files' framework says otherwise. What no option says is the framework's
    default, unless options of the command are unknown."""
    backend = BACKENDS.get(launch.framework or "")
    if backend is None or backend.reader.fork(launch.config) or launch.config.unread:
        return
    if all(spec.name != backend.target.name for spec in job.targets) or not launch.facts:
        return
    for said in backend.stack.values():
        if isinstance(said, Said) and _decided(said, launch, job) and _compared(said, job, backend):
            wanted = _asked(said, job, backend)
            path = ("train",) if said.of_train else ("target", backend.target.name)
            allowed = job.open.get((*path, said.name), (wanted,))
            for found in _read(said, launch, backend):
                if found not in allowed:
                    span = job.span(*path, said.name)
                    yield Drift(said.setting, found, wanted, _place(said, launch), span)


def _decided(said: Said, launch: LaunchedJob, job: Job) -> bool:
    """Whether files of this layout and a job of this precision say the fact at all."""
    needed = (said.job or {}).items()
    ways = launch.number(said.where) if said.where else 2
    return (ways or 1) > 1 and all(
        getattr(job.train, name) == value and launch.value(name) in (None, value)
        for name, value in needed
    )


def _compared(said: Said, job: Job, backend: Backend) -> bool:
    """Whether a difference is worth a word: always, or where the job itself says the fact."""
    options = job.train if said.of_train else job.options(backend.target.name)
    return said.notable or (options is not None and said.name in options.model_fields_set)


def _read(said: Said, launch: LaunchedJob, backend: Backend) -> Iterator[Value | None]:
    """The value that the files give a setting; none where unknown words may still say one."""
    reader = backend.reader
    read = reader.train(launch.config) if said.of_train else reader.options(launch.config)
    if said.name in read:
        yield read[said.name]
    elif not any(isinstance(fact.value, Unknown) for fact in launch.facts.values()):
        yield _default(said, backend)


def _asked(said: Said, job: Job, backend: Backend) -> Value | None:
    options = job.train if said.of_train else job.options(backend.target.name)
    value: Value | None = _default(said, backend)
    return value if options is None else getattr(options, said.name, value)


def _default(said: Said, backend: Backend) -> Value | None:
    block = Train if said.of_train else backend.target.options
    value: Value | None = block.model_fields[said.name].default
    return value


def _place(said: Said, launch: LaunchedJob) -> Fact | Setting:
    """The setting that says it, or else the launched command."""
    for setting in launch.config.settings:
        if said.written in (dashed(setting.name), *setting.values):
            return setting
    return next(iter(launch.facts.values()))
