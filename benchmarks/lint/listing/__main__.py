"""`python -m benchmarks.lint.listing FRAMEWORK RELEASE:VERSION=PLACE... > lint/releases/FRAMEWORK.csv`

Writes the table of the releases named, oldest first. A place is the folder of a checkout, a wheel, or a
repository and one of its revisions, `GITDIR@REVISION`. `forks` for the framework lists what forks of
Megatron-LM have and no release of it: `llm-jp:llm-jp/Megatron-LM@COMMIT=GITDIR@COMMIT`; `programs` lists the
options of Megatron-LM's tools, tasks and examples that its training programs never had.
"""

from __future__ import annotations

import sys

from parc.lint.releases.history import history

from .argparse_options import Row
from .frameworks import FORKED, LISTERS, megatron, programs
from .source_code import SourceCode
from .table import COLUMNS, table

_COMMAND = "python -m benchmarks.lint.listing"


def main(framework: str, *sources: str) -> None:
    versions, rows = {}, {}
    for each in sources:
        names, _, place = each.partition("=")
        release, _, version = names.partition(":")
        versions[release] = version
        code = SourceCode(place)
        rows[release] = listed(framework, code)
        print(f"{release}: {len(rows[release])}", file=sys.stderr)
    sys.stdout.write(table(rows, versions, f"{_COMMAND} {framework}"))


def listed(framework: str, code: SourceCode) -> list[Row]:
    if framework == "forks":
        return own(megatron(code))
    if framework == "programs":
        return [
            {"name": row["name"]} for row in programs(code) if row["name"] not in history(FORKED)
        ]
    return LISTERS[framework](code)


def own(rows: list[Row]) -> list[Row]:
    """Rows that no release of Megatron-LM has in this form: other options, or other values of its own."""
    kept = ("name", "kind", "count", "choices")
    upstream = {
        (option.name, option.kind, option.count, "|".join(option.choices))
        for option in history(FORKED).forms
    }
    found = ({name: row.get(name, "") for name in COLUMNS[:-1]} for row in rows)
    return [row for row in found if tuple(row[name] for name in kept) not in upstream]


if __name__ == "__main__":
    main(*sys.argv[1:])
