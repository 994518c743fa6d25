"""Abilities of a framework, as data that its backend declares and the compiler reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pydantic import BaseModel

from ..dsl.arrays import np
from ..dsl.diagnostics import Diagnostic, Span
from ..dsl.hardware import Gpu
from ..dsl.job import Job
from .algebra import Column
from .risk import SPREAD
from .traits import Traits

#: Integer columns, one per decision variable; scalars and arrays both work.
Columns = Mapping[str, Column]

#: Code of a diagnostic -> (short name, title).
Codes = Mapping[str, tuple[str, str]]


class Effect(Enum):
    """Actions of a framework on a job that breaks one of its rules, by the end of the first step."""

    STOPS = "stops"
    IGNORES = "goes on as if nothing was asked"
    WORSE = "runs worse"
    ACCEPTS = "runs: only parc refuses"


@dataclass(frozen=True)
class Predicate:
    """A rule that a framework enforces: layouts for which `holds` is false do not start.

    `holds(job, **columns)` takes the variables `of` by name, as equally long integer arrays, and returns a
    boolean array. `title` names the violation, `message(job, **values)` adds the numbers of one layout.
    `source` names the framework's file or message. `stricter` is the reason why parc refuses layouts that the
    framework starts; empty where there are none. `cure` is what to change in the job where this rule alone
    keeps the model from fitting into memory. `effect` is what the framework does with such a layout, and
    `since` the first release that does; empty where all do. `easiest` is the value of a variable for which
    the rule holds where it holds for any.
    """

    code: str
    name: str
    title: str
    of: tuple[str, ...]
    holds: Callable[..., Column]
    message: Callable[..., str]
    source: str
    stricter: str = ""
    cure: str = ""
    effect: Effect = Effect.STOPS
    since: str = ""
    easiest: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Refusal:
    """A feature that a framework lacks in every layout.

    `title` names it; `asked(job)` is the message for a job that needs it, else None. `path` is the setting
    that the diagnostic points at; where it is a block, the first of `others` that the job's own file says.
    `line` has the settings with which the framework takes the job, in `block` (that of `path` unless given);
    `help` then says what they change of the training, and is the cure where there is no line.
    """

    code: str
    name: str
    title: str
    asked: Callable[[Job], str | None]
    path: tuple[str, ...]
    help: str
    others: tuple[tuple[str, ...], ...] = ()
    line: str | Callable[[Job], str] = ""
    block: str = ""

    def cure(self, job: Job) -> str:
        """The help for a job: the line to type, if there is one, then what it changes."""
        line = self.settings(job)
        return f"`{self.block or self.path[0]} {{ {line} }}`: {self.help}" if line else self.help

    def settings(self, job: Job) -> str:
        """The settings that clear the refusal, such as `tied = false`; empty where none do."""
        return self.line if isinstance(self.line, str) else self.line(job)

    def place(self, job: Job) -> Span | None:
        """Where a job asks for the feature."""
        block = job.span(self.path[0])
        said = (job.span(*path) for path in (self.path, *self.others))
        own = (span for span in said if span and block and span.source is block.source)
        return next((span for span in own if span != block), job.span(*self.path))


@dataclass(frozen=True)
class Target:
    """A framework as the compiler sees it: domains of the variables, rules between them, cost traits.

    `domains(job)` gives candidate values per variable; an omitted variable keeps its neutral value
    (`variables.py`). `options` is the pydantic model of `target NAME { ... }`; `settings(job)` yields the
    diagnostics that its types cannot express. `codes` lists the diagnostics of `settings` and the emitter.
    """

    name: str
    options: type[BaseModel]
    domains: Callable[[Job], Mapping[str, Sequence[int]]]
    predicates: tuple[Predicate, ...]
    refusals: tuple[Refusal, ...]
    traits: Traits
    cautions: tuple[Refusal, ...] = ()
    """What trains, but in another way than a reader of the job would think: said with every plan."""
    stack: Callable[[Job], Mapping[str, Any]] = field(default=lambda job: {})
    """`stack(job)`: traits, by name, that the job's settings of kernels and traffic change."""
    settings: Callable[[Job], Iterable[Diagnostic]] = field(default=lambda job: ())
    codes: Codes = field(default_factory=dict)
    checkpoints: Callable[[Job], Mapping[str, str]] = field(default=lambda job: {})
    """`checkpoints(job)`: the option that names the folder of checkpoints, with that folder; nothing where
    none are written."""
    measured: bool = False
    """Whether timed training runs of the framework as of today are in the table of measured runs."""
    measured_on: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """`arch` of the GPUs on which timed runs of any release are in that table, of "dense" models and of those
    with "experts"."""
    memory_spread: float = SPREAD
    """Scale of ln(measured / predicted bytes) of its runs (`risk.py`)."""

    def ran(self, gpu: Gpu, experts: bool) -> bool:
        """Whether runs of such models on GPUs of this kind are in the table of measured runs."""
        kind = "experts" if experts else "dense"
        return gpu.measured and gpu.arch in self.measured_on.get(kind, ())

    def refuses(self, job: Job) -> list[Diagnostic]:
        """Diagnostics that hold for every layout of a job: lacking features and invalid settings."""
        lacking = [
            Diagnostic(refusal.code, message, refusal.place(job), help=refusal.cure(job))
            for refusal in self.refusals
            if (message := refusal.asked(job)) is not None
        ]
        return [*lacking, *self.settings(job)]


def warnings(target: Target, job: Job) -> list[Diagnostic]:
    """The target's cautions about a job, each a warning."""
    return [
        Diagnostic(
            caution.code, message, caution.place(job), severity="warning", help=caution.cure(job)
        )
        for caution in target.cautions
        if (message := caution.asked(job)) is not None
    ]


def divisors(number: int, limit: int | None = None) -> tuple[int, ...]:
    """All divisors in rising order, up to `limit`."""
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    both = sorted({*small, *(number // k for k in small)})
    return tuple(k for k in both if limit is None or k <= limit)


def holds(predicate: Predicate, job: Job, columns: Columns) -> Column:
    """Where a predicate holds: a boolean for one layout, a boolean array for columns of layouts."""
    return predicate.holds(job, **{name: np.asarray(columns[name]) for name in predicate.of})
