"""What a framework can run, as data that its backend declares and the compiler reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import BaseModel

from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job
from .algebra import Column
from .traits import Traits

#: Integer columns, one per decision variable; scalars and arrays both work.
Columns = Mapping[str, Column]

#: Complaint code -> its short name, and what is wrong.
Codes = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Predicate:
    """One rule that a framework enforces: the layouts for which `holds` is false do not start.

    `title` says in general what is wrong with them, `message(job, **values)` with the numbers of one layout.
    `holds(job, **columns)` takes the variables of `of` by name, as equally long integer arrays, and returns
    a boolean array. `source` names the framework's file or message.
    `stricter` says why parc refuses what the framework's own start does not, where it does not.
    """

    code: str
    name: str
    title: str
    of: tuple[str, ...]
    holds: Callable[..., Column]
    message: Callable[..., str]
    source: str
    stricter: str = ""


@dataclass(frozen=True)
class Refusal:
    """One thing that a job may ask for and a framework lacks, whatever the layout.

    `title` says in general what is lacking, `asked(job)` what this job asks for, or None.
    `path` is the setting to point at.
    """

    code: str
    name: str
    title: str
    asked: Callable[[Job], str | None]
    path: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class Target:
    """A framework: the values each variable may take, the rules between them, what it costs.

    `domains(job)` gives candidate values per variable; a variable it leaves out keeps its neutral value
    (`variables.py`). `options` is the pydantic class behind `target NAME { ... }`, and `settings(job)`
    complains about what its types cannot tell. `codes` names the complaints of `settings` and of the emitter.
    """

    name: str
    options: type[BaseModel]
    domains: Callable[[Job], Mapping[str, Sequence[int]]]
    predicates: tuple[Predicate, ...]
    refusals: tuple[Refusal, ...]
    traits: Traits
    settings: Callable[[Job], Iterable[Diagnostic]] = field(default=lambda job: ())
    codes: Codes = field(default_factory=dict)

    def refuses(self, job: Job) -> list[Diagnostic]:
        """What no layout can repair, each with the place in the job that asks for it."""
        lacking = [
            Diagnostic(refusal.code, message, job.span(*refusal.path), help=refusal.help)
            for refusal in self.refusals
            if (message := refusal.asked(job)) is not None
        ]
        return [*lacking, *self.settings(job)]


def divisors(number: int, limit: int | None = None) -> tuple[int, ...]:
    """All divisors in rising order, up to `limit`."""
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    both = sorted({*small, *(number // k for k in small)})
    return tuple(k for k in both if limit is None or k <= limit)


def holds(predicate: Predicate, job: Job, columns: Columns) -> Column:
    """Whether a predicate holds, for one layout or for arrays of them."""
    return predicate.holds(job, **{name: np.asarray(columns[name]) for name in predicate.of})
