"""Which of the failures that people reported the rules would have found: a table of them -> found, missed.

    python benchmarks/lint/lint_failures.py --data benchmarks/data/failures.csv [--json FILE] [--show ID]

Each row is rebuilt as launch files from its `config_facts` alone (its rule is not looked at), and linted.
Rows whose `needs` is none, world or model can be decided from the text; the others need a cluster, a version
or a run. A row whose cause says that the configuration is legal reports a check that fired wrongly: there
the rule must be silent, and must speak when the failure's missing condition (experts) is added.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.lint.failure_facts import facts_of
from benchmarks.lint.failure_files import files_of
from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

DECIDABLE = ("none", "world", "model")
Row = Mapping[str, str]


@dataclass(frozen=True)
class Tried:
    row: Row
    files: dict[str, str]
    codes: frozenset[str]
    found: bool

    @property
    def decidable(self) -> bool:
        return self.row["needs"] in DECIDABLE


def lint(files: Mapping[str, str]) -> frozenset[str]:
    configs = read_jobs(files, folder=files.get)
    return frozenset(
        found.code for each in judge(configs, LintOptions()) for found in each.findings
    )


def tried(row: Row) -> Tried:
    facts = row["config_facts"]
    files = files_of(row["framework"], facts_of(facts))
    codes = lint(files)
    found = row["rule"] in codes
    if "is legal" in row["root_cause"]:
        with_experts = files_of(
            row["framework"], facts_of(facts.replace("experts=none", "experts=8"))
        )
        found = not found and row["rule"] in lint(with_experts)
    return Tried(row, files, codes, found)


def record(rows: list[Tried]) -> dict[str, object]:
    decidable = [each for each in rows if each.decidable]
    by_rule: dict[str, dict[str, int]] = {}
    for each in decidable:
        counts = by_rule.setdefault(each.row["rule"], {"found": 0, "of": 0})
        counts["of"] += 1
        counts["found"] += each.found
    return {
        "found": sum(each.found for each in decidable),
        "decidable": len(decidable),
        "missed": [each.row["id"] for each in decidable if not each.found],
        "by_rule": dict(sorted(by_rule.items())),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="CSV")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--show", metavar="ID", help="print the files of one row")
    given = parser.parse_args()
    with given.data.open(newline="", encoding="utf-8") as stream:
        rows = [tried(row) for row in csv.DictReader(stream)]
    if given.show:
        _show(rows, given.show)
        return 0
    result = record(rows)
    for each in rows:
        word = (
            "found" if each.found else "missed" if each.decidable else "needs " + each.row["needs"]
        )
        print(f"{each.row['id']}  {each.row['rule']}  {word:<14}  {each.row['config_facts']}")
    others = Counter(each.row["needs"] for each in rows if not each.decidable)
    told = ", ".join(f"{count} {name}" for name, count in sorted(others.items()))
    print(
        f"\n{result['found']} of {result['decidable']} that the text decides; not decided: {told or 'none'}"
    )
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if not result["missed"] else 1


def _show(rows: list[Tried], wanted: str) -> None:
    for each in rows:
        if each.row["id"] == wanted:
            for name, text in each.files.items():
                print(f"--- {name}\n{text}")
            print(", ".join(sorted(each.codes)))


if __name__ == "__main__":
    sys.exit(main())
