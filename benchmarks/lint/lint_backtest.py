"""How right lint would have been on each draw, capped by the record of the draws before it.

    python benchmarks/lint/lint_backtest.py [--from DRAW] [--to DRAW] [--error SHARE] [--warning SHARE]

The levels of the table are those that the rules had then; those that the record allows are counted, of
findings and of causes (a rule in a repository). Shares that are not given are those of lint/record.py,
which draws 4 to 18 chose; draws 19 to 33 tell how they do elsewhere. From draw 34 on the levels of the table
are capped already.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.lint.lint_record import Row, counted, judged, reported
from parc.dsl.diagnostics import Severity
from parc.lint.record import DRAWN, ERROR, WARNING, Record
from parc.lint.rules import RULES

SINCE = {rule.code: rule.since for rule in RULES}
Counts = Counter[tuple[str, str]]
Levelled = Callable[[Record, str], Severity]


def levels(error: float, warning: float) -> Levelled:
    """Function that gives a finding's level by its rule's record."""

    def level(record: Record, said: str) -> Severity:
        if said == "error" and record.share >= error:
            return "error"
        return "warning" if record.share >= warning else "info"

    return level


def rows_of(
    draws: range, level: Levelled, failures: Mapping[str, int]
) -> Iterator[tuple[Row, str]]:
    """Every finding of these draws with its level by the record of those before."""
    rows = judged()
    for draw in draws:
        before = counted((row for row in rows if int(row["draw"]) < draw), failures)
        for row in rows:
            if int(row["draw"]) == draw:
                yield row, level(_record(before, row), row["severity"])


def _record(before: Mapping[tuple[str, str], Record], row: Row) -> Record:
    """A rule that no draw has heard was silent, if it was there; the reports of a new one came with it."""
    code = row["code"]
    found = before.get((code, row["case"])) or before.get((code, ""), Record())
    if found.true + found.false == 0 and SINCE.get(code, DRAWN) > DRAWN:
        return Record()
    return found if found != Record() else Record(silent=True)


def counts(found: Sequence[tuple[Row, str]]) -> tuple[Counts, Counts]:
    """Level and verdict, of findings and of causes."""
    causes = {(row["draw"], row["code"], row["repo"], said, row["verdict"]) for row, said in found}
    return (
        Counter((said, row["verdict"]) for row, said in found),
        Counter((said, verdict) for *_, said, verdict in causes),
    )


def line(name: str, found: Counts) -> str:
    parts = []
    for level in ("error", "warning", "info"):
        true, false = found[level, "true"], found[level, "false"]
        share = f"{true / (true + false):.0%}" if true + false else "-"
        parts.append(f"{level}s {true} of {true + false} true ({share})")
    return f"{name:<9}{', '.join(parts)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--from", dest="first", type=int, default=19, metavar="DRAW")
    parser.add_argument("--to", dest="last", type=int, default=33, metavar="DRAW")
    parser.add_argument("--error", type=float, default=ERROR, metavar="SHARE")
    parser.add_argument("--warning", type=float, default=WARNING, metavar="SHARE")
    given = parser.parse_args(arguments)
    draws = range(given.first, given.last + 1)
    level = levels(given.error, given.warning)
    findings, causes = counts(list(rows_of(draws, level, reported())))
    print(line("findings", findings), line("causes", causes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
