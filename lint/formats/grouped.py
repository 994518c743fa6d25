"""Findings -> one group for each message, errors first: a screen shows it for every occurrence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...dsl.diagnostics import Diagnostic, Note, Severity, render, sentence
from ..finding import Finding

#: Levels in the order in which they are read.
ORDER: tuple[Severity, ...] = ("error", "warning", "info")
#: Places of a group that are named, and notes of a finding that are shown with their lines.
PLACES, NOTES = 3, 3


@dataclass(frozen=True)
class Group:
    """The findings of one rule, level and message, in the order of their places; one at least."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    def block(self, width: int | None, whole: bool) -> list[str]:
        """The first finding with its lines, and where the others are; `whole` shows every note of it."""
        first = self.first.diagnostic
        notes = first.notes if whole else _few(first.notes)
        others = self.findings[1:]
        if others:
            notes = (*notes, Note(f"also at {_named(others, whole)}"))
        shown: Diagnostic = replace(first, notes=notes)
        return render(shown, width).split("\n")

    def line(self, width: int | None) -> list[str]:
        """The group in a sentence."""
        count = len(self.findings) - 1
        more = f" (and in {_counted(count, 'more place')})" if count else ""
        return sentence("", finding_line(self.first) + more, width)


def finding_line(found: Finding) -> str:
    """`run.sh:3:7: error PAR101 world-size: tp 3 does not divide 8 GPUs`."""
    path, line, column = position(found)
    rule = f"{found.severity} {found.code} {found.name}"
    return f"{path}:{line}:{column}: {rule}: {found.diagnostic.message}"


def position(found: Finding) -> tuple[str, int, int]:
    span = found.diagnostic.span
    return (span.source.name, span.line, span.column) if span else (found.path, 1, 1)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then hints, each by file and line."""
    return sorted(findings, key=lambda found: (ORDER.index(found.severity), *position(found)))


def groups(findings: Iterable[Finding]) -> list[Group]:
    """One group for each message of a rule and level, in the order of the first places."""
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for found in in_order(findings):
        key = (found.severity, found.code, found.diagnostic.message)
        alike.setdefault(key, []).append(found)
    return [Group(tuple(same)) for same in alike.values()]


def _named(others: Sequence[Finding], whole: bool) -> str:
    shown = others if whole else others[:PLACES]
    places = ", ".join("{}:{}".format(*position(found)) for found in shown)
    rest = len(others) - len(shown)
    return f"{places} and {_counted(rest, 'more place')}" if rest else places


def _few(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """The first notes, and the number of the others."""
    if len(notes) <= NOTES + 1:
        return notes
    return (*notes[:NOTES], Note(f"{_counted(len(notes) - NOTES, 'more note')}, with --hints"))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
