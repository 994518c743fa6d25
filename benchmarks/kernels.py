"""How well the cost model prices single kernels: python benchmarks/kernels.py --data FILE.csv

Prices every row of a file in the form of data/kernels_public.csv with the compiler's own functions
(compiler/time/kernels.py, layers.py, collectives.py) and reports the error by kind, GPU and dtype. `shape`
errors are what is left once the median ratio of a group is divided out: a level that is off by one factor
leaves none.
Exit codes: 0 something was priced, 1 nothing was, 2 the file or the arguments are unusable.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.accuracy.rows.csv_rows import Unreadable, Unusable
from benchmarks.measured_kernels.price import seconds
from benchmarks.measured_kernels.rows import Kernel, kernel_of, records

DATA = Path(__file__).parent / "data" / "kernels_public.csv"
#: Kind, GPU and dtype.
Group = tuple[str, str, str]
ERRORS = ("bias", "median_ape", "p90_ape", "shape_median_ape", "shape_p90_ape")


@dataclass
class Priced:
    """Rows with their predicted over measured times, and why others were left out."""

    rows: list[tuple[Kernel, float]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def groups(self) -> dict[Group, list[float]]:
        found: dict[Group, list[float]] = {}
        for row, ratio in self.rows:
            found.setdefault((row.kind, row.gpu, row.dtype), []).append(ratio)
        return dict(sorted(found.items()))


def priced(path: Path) -> Priced:
    """Price every row of a file. Raises Unreadable."""
    result = Priced()
    for record in records(path):
        try:
            row = kernel_of(record)
            result.rows.append((row, seconds(row) / (1e-6 * row.microseconds)))
        except Unusable as reason:
            result.skipped[str(reason)] += 1
    return result


def errors(ratios: Sequence[float]) -> dict[str, Any]:
    """Errors of predicted over measured times: signed median, median and 90th percentile of |error|, and the
    latter two with the median ratio divided out. Fractions."""
    found = np.array(ratios)
    level = float(np.median(found))
    size, shape = np.abs(found - 1.0), np.abs(found / level - 1.0)
    return {
        "n": len(found),
        "bias": level - 1.0,
        "median_ape": float(np.median(size)),
        "p90_ape": float(np.quantile(size, 0.9)),
        "shape_median_ape": float(np.median(shape)),
        "shape_p90_ape": float(np.quantile(shape, 0.9)),
    }


def report(result: Priced) -> dict[str, Any]:
    """The JSON document: every group's errors as `by_kind[kind][gpu][dtype]`, and per kind in `overall` the
    median over its groups."""
    nested: dict[str, dict[str, dict[str, Any]]] = {}
    for (kind, gpu, dtype), ratios in result.groups().items():
        nested.setdefault(kind, {}).setdefault(gpu, {})[dtype] = errors(ratios)
    return {
        "overall": {kind: overall(found) for kind, found in nested.items()},
        "by_kind": nested,
        "skipped": dict(result.skipped.most_common()),
    }


def overall(of_kind: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The median of each error over a kind's groups, and the number of groups and rows."""
    groups = [found for dtypes in of_kind.values() for found in dtypes.values()]
    medians = {name: float(np.median([each[name] for each in groups])) for name in ERRORS}
    return {"n": sum(each["n"] for each in groups), "groups": len(groups), **medians}


def text(document: Mapping[str, Any]) -> str:
    lines = []
    for kind, gpus in document["by_kind"].items():
        for gpu, dtypes in gpus.items():
            lines += [_line(f"{kind} {gpu} {dtype}", found) for dtype, found in dtypes.items()]
        lines.append(_line(f"{kind}: median of groups", document["overall"][kind]))
    head = ("kernels", "rows", "signed median", "median |e|", "p90 |e|", "by shape", "p90")
    shown = list(table(head, lines))
    reasons = [(reason, str(count)) for reason, count in document["skipped"].items()]
    return "\n".join([*shown, *table(("left out because", "rows"), reasons)])


def _line(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    figures = (percent(found[each], sign=each == "bias") for each in ERRORS)
    return (name, str(found["n"]), *figures)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Score the cost model on measured kernels.")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="CSV in the form of kernels_public.csv"
    )
    parser.add_argument("--json", type=Path, help="also write the report here")
    asked = parser.parse_args(given)
    try:
        result = priced(asked.data)
    except Unreadable as error:
        print(f"kernels: {error}", file=sys.stderr)
        return 2
    status = 0 if result.rows else 1
    document = report(result)
    if asked.json:
        try:
            asked.json.write_text(json.dumps(document, indent=2) + "\n")
        except OSError as error:
            print(f"kernels: {error}", file=sys.stderr)
            status = 2
    print(text(document))
    return status


if __name__ == "__main__":
    # A reader that goes early, as in `kernels.py | head`, ends it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
