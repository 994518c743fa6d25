"""A file of exceptions -> findings that are known and accepted, each with its reason.

```toml
[[exception]]
rule = "PAR655"
path = "legacy/*.sh"
reason = "the site sets SRUN_CPUS_PER_TASK"
until = 2027-03-01      # then it is told again
```
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from ...compiler.codes import current
from ...dsl.codes import SYNTAX, WRONG_KIND
from ...dsl.diagnostics import Diagnostic, JobError, Source, Span
from ...dsl.inputs.documents import LONGEST_TOML, toml_table
from ...dsl.inputs.files import bytes_of, reason_of
from ..finding import Finding
from ..rules import UNUSED_IGNORE

_HEAD = "[[exception]]"


@dataclass(frozen=True)
class Excused:
    """Findings of a rule (a code, a name, or the start of a code) in the files that a pattern names.

    `until` is the first day on which it does not hold any more.
    """

    rule: str
    path: str
    reason: str
    until: date | None
    span: Span

    def covers(self, found: Finding) -> bool:
        name = current(self.rule)
        named = name == found.name or (name.startswith("PAR") and found.code.startswith(name))
        return named and self.matches(found.file)

    def matches(self, path: str) -> bool:
        return fnmatch.fnmatch(path, self.path)

    def expired(self, today: date) -> bool:
        return self.until is not None and today >= self.until


def load_exceptions(path: Path) -> tuple[Excused, ...]:
    """The exceptions of a file. Raises `JobError` for one without rule, path or reason."""
    try:
        text = bytes_of(path, LONGEST_TOML).decode()
        table = toml_table(text)
    except (OSError, ValueError) as error:
        raise JobError([Diagnostic(SYNTAX, f"`{path}`: {reason_of(error)}")]) from None
    spans = _heads(Source(str(path), text))
    listed = table.get("exception", [])
    if table.keys() - {"exception"} or not isinstance(listed, list) or len(listed) != len(spans):
        message = f"`{path}`: exceptions are tables {_HEAD} with rule, path and reason"
        raise JobError([Diagnostic(WRONG_KIND, message)])
    return tuple(_excused(each, span) for each, span in zip(listed, spans, strict=True))


def _heads(source: Source) -> list[Span]:
    found, at = [], source.text.find(_HEAD)
    while at >= 0:
        found.append(Span(source, at, at + len(_HEAD)))
        at = source.text.find(_HEAD, at + 1)
    return found


def _excused(table: Any, span: Span) -> Excused:
    words = ("rule", "path", "reason")
    texts = (
        [str(table.get(word) or "").strip() for word in words] if isinstance(table, dict) else []
    )
    if not texts or not all(texts):
        raise JobError([Diagnostic(WRONG_KIND, "an exception needs rule, path and reason", span)])
    until = table.get("until")
    day = until.date() if isinstance(until, datetime) else until
    if table.keys() - {*words, "until"} or not isinstance(day, date | None):
        message = "an exception has only rule, path, reason and optionally a date `until`"
        raise JobError([Diagnostic(WRONG_KIND, message, span)])
    rule, path, reason = texts
    return Excused(rule, path, reason, day, span)


def excused(
    findings: Sequence[Finding], exceptions: Sequence[Excused], paths: Sequence[str], today: date
) -> tuple[list[Finding], list[Finding]]:
    """Findings that no exception covers, and what is to be said of the exceptions for these files: those
    that have ended, and those that cover nothing."""
    valid = [each for each in exceptions if not each.expired(today)]
    left = [found for found in findings if not any(each.covers(found) for each in valid)]
    told = [_told(each, "has ended") for each in exceptions if each not in valid]
    idle = (each for each in valid if not any(each.covers(found) for found in findings))
    told += [
        _told(each, "covers nothing") for each in idle if any(each.matches(path) for path in paths)
    ]
    return left, told


def _told(exception: Excused, what: str) -> Finding:
    message = f"the exception for `{exception.rule}` in `{exception.path}` {what}"
    diagnostic = Diagnostic(UNUSED_IGNORE.code, message, exception.span, UNUSED_IGNORE.severity)
    return Finding(UNUSED_IGNORE.name, diagnostic, exception.span.source.name)
