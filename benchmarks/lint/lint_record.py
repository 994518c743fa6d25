"""Judged findings and reported failures -> lint/record.csv, by which the levels of the rules are capped.

    python benchmarks/lint/lint_record.py [--check]

A repository counts once a rule and verdict, however often the rule spoke there. Arguable findings count
neither way. A failure is reported if the rules find it, at any level. `--check` writes nothing and exits with
1 if the table is another one.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.lint.failures import load_all
from benchmarks.lint.lint_failures import FAILURES, tried
from parc.lint.record import FIELDS, Record

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "lint" / "record.csv"
DATA = ROOT / "benchmarks" / "data"
#: Code and case of a rule.
Key = tuple[str, str]
Row = Mapping[str, str]


def judged() -> list[Row]:
    """Every judged finding that is true or false; those before the first draw have draw 0."""
    found: list[Row] = []
    for name in ("lint_judged_first.csv", "lint_judged.csv"):
        with (DATA / name).open(newline="", encoding="utf-8") as stream:
            found += ({"draw": "0", **row} for row in csv.DictReader(stream))
    return [row for row in found if row["verdict"] != "arguable"]


def reported() -> Counter[str]:
    """How many failures the rules find, by code."""
    found = [each for each in map(tried, load_all(FAILURES)) if each.verdict in ("found", "hint")]
    return Counter(
        code for each in found for code in {wanted.code for wanted in each.failure.wanted}
    )


def counted(rows: Iterable[Row], failures: Mapping[str, int]) -> dict[Key, Record]:
    """The record of every rule and case that has one, in the order of the codes."""
    causes = {(row["code"], row["case"], row["repo"], row["verdict"]) for row in rows}
    counts = Counter((code, case, verdict) for code, case, _, verdict in causes)
    keys = {(code, case) for code, case, _, _ in causes} | {(code, "") for code in failures}
    return {
        (code, case): Record(
            counts[code, case, "true"],
            counts[code, case, "false"],
            0 if case else failures.get(code, 0),
        )
        for code, case in sorted(keys)
    }


def table(found: Mapping[Key, Record]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows((*key, each.true, each.false, each.reported) for key, each in found.items())
    return stream.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    text = table(counted(judged(), reported()))
    if given.check:
        return int(text != TABLE.read_text(encoding="utf-8"))
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
