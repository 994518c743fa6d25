"""Judged jobs -> the last line: how many findings of each level, and how much could be judged."""

from collections import Counter
from collections.abc import Sequence

from ..finding import Finding
from ..judging import SEVERITIES, Judged, findings

#: Rules, and releases, that the last lines name.
SHOWN = 3


def summary(judged: Sequence[Judged]) -> str:
    """`2 errors, 1 warning: 2 jobs, 41 of 43 facts known; PAR101 not judged without gpus`."""
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
    return f"{levels(findings(judged)) or 'no findings'}: {coverage}{releases}{more}"


def levels(found: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    counts = Counter(each.severity for each in found)
    names = {"info": "hint"}
    return ", ".join(
        counted(counts[level], names.get(level, level))
        for level in reversed(SEVERITIES)
        if counts[level]
    )


def counted(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else f'{what}s'}"
