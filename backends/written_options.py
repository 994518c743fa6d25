"""Options that a target will write, keys of `extra` among them -> the rows of its framework that they break.

`problems` judges all that is written, `of_extra` the keys of `extra` alone, before any layout is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..compiler.target import Effect
from ..dsl.diagnostics import Diagnostic, Note
from ..dsl.job import Job
from ..reading.facts import Setting
from .constraints import Broken, Constraint, Constraints, FileKeys, Given, Need, broken
from .extra import Value, among
from .released_options import releases

NOTHING: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True)
class WrittenOptions:
    """A job that is written for `release` of the `target` that reads `title`'s options."""

    job: Job
    target: str
    title: str
    release: str

    def problems(
        self, rows: Constraints, options: Given, keys: Mapping[str, str]
    ) -> Iterator[Diagnostic]:
        """Broken rows that stop the framework, at the key of `extra` that takes part. `keys`: an option that
        `extra` writes -> its key."""
        for code, some in rows.items():
            for fault in self.broken(some, options):
                names = [setting.name for setting in (fault.at, *fault.others)]
                key = next((keys[name] for name in names if name in keys), None)
                if key is not None:
                    yield self._diagnostic(code, fault, key)

    def broken(self, rows: Iterable[Constraint], options: Given) -> Iterator[Broken]:
        """Broken rows that stop the framework."""
        lasting = (row for row in rows if row.effect is Effect.STOPS and self._holds(row))
        return broken(lasting, options)

    def of_extra(
        self,
        rows: Constraints,
        extra: Mapping[str, Value],
        theirs: Iterable[str],
        beside: Mapping[str, Value] = NOTHING,
    ) -> Iterator[Diagnostic]:
        """Rows that keys of `extra` break in every layout, `beside` settings that are always written. A need
        is not judged where others write it, as they do `theirs`."""
        others = set(theirs)
        own = {
            code: tuple(each for each in some if _alone(each, others))
            for code, some in rows.items()
        }
        keys = {name: name for name in extra if not among(name, others)}
        yield from self.problems(own, file_keys({**beside, **extra}), keys)

    def _holds(self, row: Constraint) -> bool:
        if not row.since and not row.until:
            return True
        order = list(releases(self.target))
        first = order.index(row.since) if row.since in order else 0
        last = order.index(row.until) if row.until in order else len(order)
        return first <= order.index(self.release) < last

    def _diagnostic(self, code: str, fault: Broken, key: str) -> Diagnostic:
        return Diagnostic(
            code,
            f"with this `extra` {self.title} would not start: {fault.message}",
            self.job.span("target", self.target, "extra", key),
            notes=(Note(f"{self.title}, {fault.row.source}"),),
            help=fault.help,
        )


def _alone(row: Constraint, others: set[str]) -> bool:
    return not isinstance(row, Need) or not others & {each.partition(" ")[0] for each in row.needs}


def file_keys(keys: Mapping[str, object]) -> FileKeys:
    """Keys that are to be written, by their dotted names."""
    return FileKeys(
        {
            name: Setting("", name, (value,) if isinstance(value, Value) else (), "", 1)
            for name, value in keys.items()
        }
    )


def flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """The keys of nested tables by their dotted names."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{key}.")
        else:
            yield above + key, value
