"""Findings of today, kept in a file, so that only new ones are said.

A finding is the same tomorrow as long as its rule, its file and the text of its line are, wherever the line
moves to; of equal ones as many are hidden as were there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...dsl.codes import SYNTAX, WRONG_KIND
from ...dsl.diagnostics import Diagnostic, JobError
from ...dsl.inputs.documents import json_value
from ...dsl.inputs.files import MOST_BYTES, bytes_of, reason_of
from ..finding import Finding

VERSION = 1


def fingerprint(found: Finding) -> str:
    """64 hexadecimal digits: the rule, the path below the current folder, the text of the line."""
    span = found.diagnostic.span
    line = span.source.line(span.line).strip() if span else ""
    relative = os.path.relpath(found.file).replace(os.sep, "/")
    return hashlib.sha256(
        "\0".join((found.code, relative, line)).encode(errors="replace")
    ).hexdigest()


def baseline_text(findings: Sequence[Finding]) -> str:
    """A baseline that hides these findings; each with its message, for people who read the file."""
    kept = sorted(
        (each.file, each.code, fingerprint(each), each.diagnostic.message) for each in findings
    )
    rows = [
        {"path": path, "code": code, "fingerprint": digest, "message": message}
        for path, code, digest, message in kept
    ]
    return json.dumps({"version": VERSION, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def is_baseline(text: str) -> bool:
    try:
        _fingerprints(text)
    except (ValueError, KeyError, TypeError):
        return False
    return True


def load_baseline(path: Path) -> Counter[str]:
    """How often each fingerprint is in a baseline. Raises `JobError`."""
    try:
        text = bytes_of(path, MOST_BYTES).decode()
    except (OSError, ValueError) as error:
        help_text = "write one with --write-baseline"
        message = f"`{path}`: {reason_of(error)}"
        raise JobError([Diagnostic(SYNTAX, message, help=help_text)]) from None
    try:
        return _fingerprints(text)
    except (ValueError, KeyError, TypeError):
        message = f"`{path}` is not a baseline of findings"
        raise JobError([Diagnostic(WRONG_KIND, message)]) from None


def _fingerprints(text: str) -> Counter[str]:
    table = json_value(text)
    if table["version"] != VERSION:
        raise ValueError
    return Counter(str(row["fingerprint"]) for row in table["findings"])


def new(findings: Sequence[Finding], known: Counter[str]) -> list[Finding]:
    """The findings that a baseline does not have, in their order."""
    left, kept = Counter(known), []
    for found in findings:
        digest = fingerprint(found)
        if left[digest] > 0:
            left[digest] -= 1
        else:
            kept.append(found)
    return kept
