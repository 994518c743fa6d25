"""Findings of several jobs -> each cause once: what a shared file holds is not said again for every job."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..dsl.diagnostics import Note
from .finding import Finding

#: Code, place, and how many findings of that code stood there before in the same job.
_Cause = tuple[str, str, int, int, int]
#: Names of jobs that a note lists.
_MOST_NAMES = 3


def once(jobs: Sequence[tuple[str, Sequence[Finding]]]) -> list[tuple[Finding, ...]]:
    """The findings of each job, given with its path, less those whose cause an earlier job has; there
    a note names the others."""
    owners: dict[_Cause, dict[str, None]] = {}
    kept: list[list[tuple[_Cause, Finding]]] = []
    for path, findings in jobs:
        found = list(zip(_causes(findings), findings, strict=True))
        kept.append([(cause, each) for cause, each in found if cause not in owners])
        for cause, _ in found:
            owners.setdefault(cause, {})[path] = None
    return [tuple(_noted(each, list(owners[cause])[1:]) for cause, each in found) for found in kept]


def _causes(findings: Sequence[Finding]) -> list[_Cause]:
    causes: list[_Cause] = []
    before: Counter[tuple[str, str, int, int]] = Counter()
    for found in findings:
        span = found.diagnostic.span
        place = (span.source.name, span.start, span.end) if span else (found.path, 0, 0)
        causes.append((found.code, *place, before[found.code, *place]))
        before[found.code, *place] += 1
    return causes


def _noted(found: Finding, others: Sequence[str]) -> Finding:
    """A finding with a note on further jobs that have it."""
    if not others:
        return found
    named = ", ".join(others[:_MOST_NAMES])
    more = f" and {len(others) - _MOST_NAMES} more" if len(others) > _MOST_NAMES else ""
    note = Note(f"the same holds for {named}{more}")
    notes = (*found.diagnostic.notes, note)
    return replace(found, diagnostic=replace(found.diagnostic, notes=notes))
