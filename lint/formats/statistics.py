"""How often each rule speaks, the most frequent first."""

import json
from collections import Counter
from collections.abc import Sequence

from ...dsl.diagnostics import one_line
from ..finding import Finding
from ..judging import Judged, findings
from .summary import summary


def statistics(judged: Sequence[Judged]) -> str:
    """A line for each rule: how often, code, name, in how many files; then what was judged."""
    rows = _rows(judged)
    if not rows:
        return summary(judged)
    count, code, name, files = (
        max(len(str(row[column])) for row in rows) for column in ("count", "code", "name", "files")
    )
    lines = [
        f"{row['count']:>{count}}  {row['code']:<{code}}  {row['name']:<{name}}  "
        f"in {row['files']:>{files}} {'file' if row['files'] == 1 else 'files'}"
        for row in rows
    ]
    return "\n".join([*lines, one_line(summary(judged))])


def statistics_json(judged: Sequence[Judged]) -> str:
    return json.dumps(_rows(judged), indent=2)


def _rows(judged: Sequence[Judged]) -> list[dict[str, str | int]]:
    found: dict[tuple[str, str], list[Finding]] = {}
    for each in findings(judged):
        found.setdefault((each.code, each.name), []).append(each)
    counts = Counter({rule: len(those) for rule, those in found.items()})
    return [
        {
            "code": code,
            "name": name,
            "count": count,
            "files": len({each.file for each in found[code, name]}),
        }
        for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
