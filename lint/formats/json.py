"""For programs: every job with its facts, every finding with its places."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ...dsl.diagnostics import Note
from ...reading.facts import Fact, Unknown
from ..finding import Finding
from ..judging import Judged, findings
from .grouped import position
from .summary import jobs, summary


def as_json(judged: Sequence[Judged]) -> str:
    value = {
        "files": [_file(each) for each in jobs(judged)],
        "findings": [_finding(found) for found in findings(judged)],
        "without_launch": [
            {"path": each.idle.path, "why": each.idle.why, "help": each.idle.help}
            for each in judged
            if each.idle
        ],
        "summary": summary(judged),
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def _file(judged: Judged) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for fact in judged.config.facts:
        facts.setdefault(fact.name, _fact(fact, judged.path))
    named = {"release": judged.release} if judged.release else {}
    return {
        "path": judged.path,
        "kind": str(judged.config.kind),
        **named,
        "facts": facts,
        "not_judged": [*_not_judged(judged)],
    }


def _not_judged(judged: Judged) -> Iterator[dict[str, Any]]:
    """Rules and quantities that lack something: the facts, or the reason."""
    for what, why in judged.unpriced.items():
        yield {"what": what, "why": why, "facts": []}
    for code, wanted in sorted(judged.skipped.items()):
        yield {"what": code, "why": "facts are unknown", "facts": sorted(wanted)}


def _fact(fact: Fact, path: str) -> dict[str, Any]:
    """`path` is there only where it is not the job's own, as in a job of several files."""
    value = fact.value
    shown = {"unknown": value.reason} if isinstance(value, Unknown) else {"value": value}
    return {**shown, "line": fact.line} | ({"path": fact.path} if fact.path != path else {})


def _finding(found: Finding) -> dict[str, Any]:
    path, line, column = position(found)
    return {
        "code": found.code,
        "name": found.name,
        "severity": found.severity,
        "path": path,
        "line": line,
        "column": column,
        "message": found.diagnostic.message,
        "help": found.diagnostic.help,
        "related": [_related(note) for note in found.diagnostic.notes],
    }


def _related(note: Note) -> dict[str, Any]:
    span = note.span
    return {
        "message": note.message,
        "path": span.source.name if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
    }
