"""A backend's variables of the environment, and those of the job's `launch { env }` -> lines of bash."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..dsl.diagnostics import Diagnostic, Span
from ..dsl.job import Job
from ..dsl.settings import Frozen
from ..reading.facts import LaunchConfig, Setting
from .languages import bash
from .languages.bash import Bash

ENVIRONMENT = "PAR381"
CODES = {
    ENVIRONMENT: ("environment", "`env` has an invalid name, or a variable that the layout decides")
}


@dataclass(frozen=True)
class Variable:
    """One variable that a backend sets; `why` is one line of comment; without it that of the variable
    before it holds.

    `value` is None for a variable that must not be set. A `fixed` one, a plain word, is set whatever the
    environment says, because the framework refuses other values; others give way to it and to `env`.
    `synonyms` are other names of the same thing: where `env` has one of them, the variable is left to it.
    """

    name: str
    value: str | None
    why: str = ""
    fixed: bool = False
    synonyms: tuple[str, ...] = ()


#: torchrun sets 1, with which no trace is written (pytorch/pytorch#121055); PyTorch's own choice is 3.
SKIPS_CLEANUP = Variable(
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "3",
    "A rank whose collective failed ends without tearing it down: else it would write no trace.",
)
#: PyTorch's flight recorder, in every release under these names; from 2.8 there are newer ones beside them.
RECORDER = (
    Variable(
        "TORCH_NCCL_TRACE_BUFFER_SIZE",
        "2000",
        "Where a collective hangs, each rank writes a trace of its last ones, which torchfrtrace compares.",
        synonyms=("TORCH_FR_BUFFER_SIZE",),
    ),
    Variable("TORCH_NCCL_DUMP_ON_TIMEOUT", "1"),
    Variable(
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
        "$RUN_LOGS/nccl_rank_",
        synonyms=("TORCH_FR_DUMP_TEMP_FILE",),
    ),
    SKIPS_CLEANUP,
)


#: What stands above the job's own variables.
_OWN = "What the job's `launch` sets."


def given(job: Job) -> dict[str, str]:
    """The job's own variables as texts: true is 1, false is 0."""
    env = job.launch.env if job.launch else {}
    return {name: as_text(value) for name, value in env.items()}


def as_text(value: str | int | bool) -> str:
    return str(int(value) if isinstance(value, bool) else value)


def names_user(job: Job, options: Frozen) -> bool:
    """Whether a path or variable of the job has `$USER` in it, which many pods leave unset."""
    given = [options.model_dump(), dict(job.launch.env) if job.launch else {}, job.train.weights]
    return re.search(r"\$(USER\b|\{USER\})", repr(given)) is not None


def lines(job: Job, defaults: Sequence[Variable]) -> list[Bash]:
    """Bash that sets the defaults and the job's own variables, each with what it is for.

    A variable that is set where the script starts keeps its value, save a fixed one. Values are
    texts to bash, in which `$NAME` alone is replaced.
    """
    asked = given(job)
    found = []
    for item in defaults:
        if item.fixed or not asked.keys() & {item.name, *item.synonyms}:
            found += [*([bash.remark(item.why)] if item.why else []), _line(item)]
    fixed = {item.name for item in defaults if item.fixed}
    own = [bash.exported(name, value) for name, value in asked.items() if name not in fixed]
    return [*found, *([bash.remark(_OWN)] if own else []), *own]


def own_variables(config: LaunchConfig) -> list[Setting]:
    """The variables that the job's `launch` sets in the scripts that `lines` wrote."""
    found = []
    for path, text in config.texts.items():
        lines = text.splitlines()
        if f"# {_OWN}" in lines:
            first = lines.index(f"# {_OWN}") + 2
            own = itertools.takewhile(lambda line: line.startswith("export "), lines[first - 1 :])
            places = range(first, first + len(list(own)))
            found += [
                each
                for each in config.all("environment")
                if each.path == path and each.line in places
            ]
    return found


def problems(job: Job, defaults: Sequence[Variable]) -> Iterator[Diagnostic]:
    """Variables of `env` whose names no shell takes, or whose values the framework refuses."""
    fixed = {item.name: item.value for item in defaults if item.fixed}
    for name in job.cluster.env:
        yield from _unwritable(name, job.span("cluster", "env", name))
    for name, value in given(job).items():
        span = job.span("launch", "env", name)
        yield from _unwritable(name, span)
        if name in fixed and value != fixed[name]:
            wanted = "unset" if fixed[name] is None else f"{name}={fixed[name]}"
            message = f"`env` may not set {name}={value}: this layout needs it {wanted}"
            yield Diagnostic(ENVIRONMENT, message, span, help=f"leave {name} out of `env`")


def _unwritable(name: str, span: Span | None) -> Iterator[Diagnostic]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        message = f"`{name}` is not a name of an environment variable"
        help = "letters, digits and `_`, not starting with a digit"
        yield Diagnostic(ENVIRONMENT, message, span, help=help)


def _line(item: Variable) -> Bash:
    if item.value is None or item.fixed:
        return bash.fixed(item.name, item.value)
    return bash.exported(item.name, item.value)
