"""For people: each finding with its source lines, or one line each, and what was judged at all."""

from collections import Counter
from collections.abc import Sequence

from ...dsl.diagnostics import render
from ..finding import Finding
from ..judging import SEVERITIES, Judged


def text(judged: Sequence[Judged]) -> str:
    blocks = [render(found.diagnostic) for found in findings(judged)]
    return "\n\n".join([*blocks, summary(judged)])


def concise(judged: Sequence[Judged]) -> str:
    lines = [_line(found) for found in findings(judged)]
    return "\n".join([*lines, summary(judged)])


def _line(found: Finding) -> str:
    path, line, column = position(found)
    message = found.diagnostic.message
    return f"{path}:{line}:{column}: {found.severity} {found.code} {found.name}: {message}"


def findings(judged: Sequence[Judged]) -> list[Finding]:
    """Those of all jobs; a file that several jobs share is complained of once."""
    return list(dict.fromkeys(found for each in judged for found in each.findings))


def position(found: Finding) -> tuple[str, int, int]:
    span = found.diagnostic.span
    return (span.source.name, span.line, span.column) if span else (found.path, 1, 1)


def summary(judged: Sequence[Judged]) -> str:
    """`2 errors, 1 warning; 41 of 43 facts known, 3 rules skipped`."""
    counts = Counter(found.severity for found in findings(judged))
    counted_levels = [counted(counts[name], name) for name in reversed(SEVERITIES) if counts[name]]
    facts = sum(len(each.config.facts) for each in judged)
    known = sum(each.known for each in judged)
    skipped = sorted({code for each in judged for code in each.skipped})
    wanted = sorted({name for each in judged for names in each.skipped.values() for name in names})
    coverage = f"{counted(len(judged), 'job')}, {known} of {counted(facts, 'fact')} known"
    if skipped:
        coverage += f"; {', '.join(skipped)} not judged without {', '.join(wanted)}"
    releases = "".join(
        f"; {line}" for line in dict.fromkeys(each.release for each in judged) if line
    )
    return f"{', '.join(counted_levels) or 'no findings'}: {coverage}{releases}"


def counted(number: int, what: str) -> str:
    plural = "infos" if what == "info" else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
