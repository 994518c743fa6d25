"""For code scanning: SARIF 2.1.0."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from ...dsl.diagnostics import Note, Span
from ...reading.facts import Unknown
from ..accepted.baseline import fingerprint
from ..finding import Finding
from ..judging import Judged, findings
from ..record import default_level
from ..rule_page import page
from ..rules import RULES
from .grouped import position
from .summary import summary

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


#: A rule's page below the address of the site (docs/reference/codes.py).
PAGE = "reference/codes/{code}.html"


def sarif(judged: Sequence[Judged], site: str | None = None) -> str:
    """`site` is where the pages of rules can be read: each rule gets the address of its own."""
    found = findings(judged)
    codes = sorted({each.code for each in found})
    run = {
        "tool": {"driver": _driver(codes, site)},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, codes) for each in found],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [*_unjudged(judged), *_unknown(judged)],
            }
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _driver(codes: Sequence[str], site: str | None) -> dict[str, Any]:
    from importlib.metadata import version

    release = version("parc-compiler")
    return {
        "name": "parc",
        "version": release,
        "semanticVersion": release,
        "rules": [_rule(code, site) for code in codes],
    }


def _rule(code: str, site: str | None) -> dict[str, Any]:
    address = f"{site.rstrip('/')}/{PAGE.format(code=code)}" if site else None
    rule = next(rule for rule in RULES if rule.code == code)
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.page["What"]},
        **({"helpUri": address} if address else {}),
        "help": {"text": rule.page["Why"], "markdown": page(rule)},
        "defaultConfiguration": {"level": _LEVELS[default_level(rule)]},
    }


def _result(found: Finding, codes: Sequence[str]) -> dict[str, Any]:
    diagnostic = found.diagnostic
    help_text = f" ({diagnostic.help})" if diagnostic.help else ""
    related = [note for note in diagnostic.notes if note.span is not None]
    return {
        "ruleId": found.code,
        "ruleIndex": codes.index(found.code),
        "level": _LEVELS[found.severity],
        "message": {"text": diagnostic.message + help_text},
        "locations": [_location(diagnostic.span, *position(found))],
        "relatedLocations": [_related(note) for note in related],
        "partialFingerprints": {"parcFinding/v1": fingerprint(found)},
    }


def _location(span: Span | None, path: str, line: int, column: int) -> dict[str, Any]:
    region = {"startLine": line, "startColumn": column}
    if span is not None and "\n" not in span.text:
        region["endColumn"] = column + max(span.end - span.start, 1)
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _related(note: Note) -> dict[str, Any]:
    span = note.span
    assert span is not None
    return {
        **_location(span, span.source.name, span.line, span.column),
        "message": {"text": note.message},
    }


def _uri(path: str) -> str:
    """Relative to the current folder where it can be, as code scanning wants it."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return quote((path if relative.startswith("..") else relative).replace(os.sep, "/"))


def _unjudged(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """Notifications of what was asked for and not judged, of files without a launch, and the last line."""
    for each in judged:
        told = [f"{what} not judged: {why}" for what, why in each.unpriced.items()]
        if each.idle:
            told = [f"{each.idle.why}; {each.idle.help}"]
        for text in told:
            yield {
                "level": "warning",
                "message": {"text": text},
                "locations": [_location(None, each.path, 1, 1)],
            }
    yield {"level": "note", "message": {"text": summary(judged)}}


def _unknown(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Unknown facts as notifications, so that CI sees how much was judged."""
    return [
        {
            "level": "note",
            "message": {"text": f"{fact.name} is unknown: {fact.value.reason}"},
            "locations": [_location(None, fact.path, fact.line, fact.column)],
        }
        for each in judged
        for fact in each.config.facts
        if isinstance(fact.value, Unknown)
    ]
