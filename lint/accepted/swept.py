"""Judged jobs -> hints of what the arithmetic of batches says of some rounds of a loop alone.

A loop that launches one command with several layouts and batches measures them; that one of its combinations
does not divide, or leaves a pipeline idle, is among what it measures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...dsl.diagnostics import Note, Severity
from ...reading.facts import LaunchConfig, Unknown
from ..finding import Finding

#: Codes of rules on batches, which depend on the values that loops go through.
BATCH = "PAR2"
#: What such a loop goes through.
_SWEPT = ("tp", "pp", "cp", "ep", "nodes", "gpus_per_node", "micro_batch", "global_batch")

Job = tuple[LaunchConfig, tuple[Finding, ...]]


def softened(jobs: Sequence[Job]) -> Iterator[tuple[Finding, ...]]:
    """The findings of each job; those on batches are hints where another launch of its command has none."""
    launches: dict[object, list[Job]] = {}
    for job in jobs:
        launches.setdefault(job[0].command, []).append(job)
    rounds = {command: _rounds(same) for command, same in launches.items() if command is not None}
    for config, findings in jobs:
        yield tuple(_hint(each, rounds.get(config.command, [])) for each in findings)


def _rounds(same: Sequence[Job]) -> list[tuple[Finding, ...]]:
    """The findings of every launch of one command, where these differ in what loops go through."""
    layouts = {tuple(_value(job, name) for name in _SWEPT) for job, _ in same}
    return [findings for _, findings in same] if len(layouts) > 1 else []


def _value(config: LaunchConfig, name: str) -> str:
    value = config.value(name)
    return "" if isinstance(value, Unknown) else str(value)


def _of_batches(found: Finding) -> bool:
    return found.code.startswith(BATCH) and found.severity != "info"


def _hint(found: Finding, rounds: Sequence[tuple[Finding, ...]]) -> Finding:
    having = sum(any(each.code == found.code for each in findings) for findings in rounds)
    if not _of_batches(found) or having == len(rounds):
        return found
    severity: Severity = "info"
    note = Note(
        f"{having} of the {len(rounds)} launches of this command have it: a sweep measures them"
    )
    diagnostic = found.diagnostic
    changed = replace(diagnostic, severity=severity, notes=(*diagnostic.notes, note))
    return replace(found, diagnostic=changed)
