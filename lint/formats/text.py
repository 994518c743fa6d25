"""For people: each finding with its source lines, or one line each, and what was judged at all."""

from collections import Counter
from collections.abc import Sequence

from ...dsl.diagnostics import one_line, render, sentence
from ..finding import Finding
from ..judging import SEVERITIES, Judged, findings

#: From so many findings on, those rules are named that speak most often, and how many.
MANY, SHOWN = 10, 3


def text(judged: Sequence[Judged], width: int | None = None) -> str:
    """Each finding in lines of at most `width` columns."""
    blocks = [render(found.diagnostic, width) for found in findings(judged)]
    said = ["\n".join(sentence("", line, width)) for line in (*causes(judged), summary(judged))]
    return "\n\n".join([*blocks, *said])


def concise(judged: Sequence[Judged]) -> str:
    lines = [_line(found) for found in findings(judged)]
    return "\n".join([*lines, *causes(judged), summary(judged)])


def _line(found: Finding) -> str:
    path, line, column = position(found)
    message = found.diagnostic.message
    place = f"{path}:{line}:{column}"
    return one_line(f"{place}: {found.severity} {found.code} {found.name}: {message}")


def causes(judged: Sequence[Judged]) -> list[str]:
    """`most often: 47 × PAR647 output-folder, 33 × PAR604 ...`, where there are many findings."""
    found = findings(judged)
    rules = Counter(f"{each.code} {each.name}" for each in found)
    if len(found) < MANY or len(rules) == len(found):
        return []
    often = ", ".join(f"{count} × {rule}" for rule, count in rules.most_common(SHOWN))
    return [f"most often: {often}"]


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
    taken = [line for line in dict.fromkeys(each.release for each in judged) if line]
    releases = "".join(f"; {line}" for line in taken[:SHOWN])
    more = f"; and {len(taken) - SHOWN} other releases or forks" if len(taken) > SHOWN else ""
    return f"{', '.join(counted_levels) or 'no findings'}: {coverage}{releases}{more}"


def counted(number: int, what: str) -> str:
    plural = "infos" if what == "info" else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
