"""Judged jobs -> the last line: how many findings of each level, and how much could be judged."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ...reading import programs
from ..finding import Finding
from ..judging import SEVERITIES, Judged, findings

#: Rules, releases, reasons and files that the last lines name.
SHOWN = 3
#: The quantity that `--cluster` and `--spec` both ask for (PAR511).
MEMORY = "memory"
#: Facts without which a program that trains is judged in part.
MAIN = ("gpus", "micro_batch", "global_batch", "seq_len", "precision")


def jobs(judged: Sequence[Judged]) -> list[Judged]:
    """The jobs, without the files that hold no launch."""
    return [each for each in judged if each.idle is None]


def summary(judged: Sequence[Judged]) -> str:
    """`2 errors: 2 jobs, 41 of 43 facts known; memory not judged: the model's vocabulary is unknown`."""
    return f"{levels(findings(judged)) or 'no findings'}: {'; '.join(_parts(judged))}"


def levels(found: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    counts = Counter(each.severity for each in found)
    names = {"info": "hint"}
    return ", ".join(
        counted(counts[level], names.get(level, level))
        for level in reversed(SEVERITIES)
        if counts[level]
    )


def _parts(judged: Sequence[Judged]) -> Iterator[str]:
    read = jobs(judged)
    facts = sum(len(each.config.facts) for each in read)
    known = sum(each.known for each in read)
    yield f"{counted(len(read), 'job')}, {known} of {counted(facts, 'fact')} known"
    skipped = sorted({code for each in read for code in each.skipped})
    wanted = sorted({name for each in read for names in each.skipped.values() for name in names})
    if skipped:
        yield f"{', '.join(skipped)} not judged without {', '.join(wanted)}"
    yield from _unstated(read)
    yield from unpriced(read)
    taken = [line for line in dict.fromkeys(each.release for each in read) if line]
    yield from taken[:SHOWN]
    if len(taken) > SHOWN:
        yield f"and {len(taken) - SHOWN} other releases or forks"
    yield from _first_jobs(read)
    if idle := [each.idle.path for each in judged if each.idle]:
        more = f" and {len(idle) - SHOWN} more" if len(idle) > SHOWN else ""
        yield f"nothing to lint in {', '.join(idle[:SHOWN])}{more}"


def _first_jobs(read: Sequence[Judged]) -> Iterator[str]:
    """`sweep.sh: only the first 40 jobs that it starts are judged`."""
    told = {each.path: each.reason for job in read for each in job.config.unread if each.rest}
    yield from (f"{path}: {reason}" for path, reason in list(told.items())[:SHOWN])
    if len(told) > SHOWN:
        yield f"the first jobs of {len(told) - SHOWN} more files"


def _is_trainer(judged: Judged) -> bool:
    config = judged.config
    return bool(config.kind.program and config.facts and programs.trains(config.program))


def _unstated(read: Sequence[Judged]) -> Iterator[str]:
    """`not stated: gpus, seq_len`, or in how many of several jobs."""
    training = [each for each in read if _is_trainer(each)]
    stated = [{fact.name for fact in each.config.facts} for each in training]
    lacking = {name: sum(name not in names for names in stated) for name in MAIN}
    if any(lacking.values()):
        often = len(read) > 1
        named = [f"{name} ({n})" if often else name for name, n in lacking.items() if n]
        yield f"not stated: {', '.join(named)}"


def unpriced(read: Sequence[Judged]) -> Iterator[str]:
    """`memory not judged: the model's vocabulary is unknown`, for what `--spec` and `--cluster` ask for."""
    names = dict.fromkeys(name for each in read for name in each.unpriced)
    said: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: name != MEMORY):
        said.setdefault(_reasons(name, read), []).append(name)
    for reasons, (first, *others) in said.items():
        yield f"{first} not judged{reasons}"
        if others:
            yield f"{' and '.join(others)} not judged either"


def _reasons(name: str, read: Sequence[Judged]) -> str:
    """` in 3 of 5 jobs: the model's vocabulary is unknown (2), seq_len is unknown (1)`."""
    reasons = Counter(each.unpriced[name] for each in read if name in each.unpriced)
    where = f" in {reasons.total()} of {len(read)} jobs" if reasons.total() < len(read) else ""
    shown = [
        reason if len(reasons) == 1 else f"{reason} ({count})"
        for reason, count in reasons.most_common(SHOWN)
    ]
    more = f" and {len(reasons) - SHOWN} other reasons" if len(reasons) > SHOWN else ""
    return f"{where}: {', '.join(shown)}{more}"


def counted(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else f'{what}s'}"
