"""Rows of releases -> a table of options, each with the releases that have it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from .argparse_options import Row

#: As `backends.released_options.ReleasedOption` has them, and the releases.
COLUMNS = ("name", "kind", "count", "choices", "default", "instead", "releases")


def table(rows: Mapping[str, Iterable[Row]], versions: Mapping[str, str], notes: str = "") -> str:
    """The file: a row for each form of an option, with the releases that have it so, oldest first.

    `versions`: release -> the version, or the repository and commit, whose code was read. `notes` follow them
    in the first line, behind `#`.
    """
    forms: dict[tuple[str, ...], list[str]] = {}
    for release in versions:
        for row in rows[release]:
            form = tuple(row.get(name, "") for name in COLUMNS[:-1])
            having = forms.setdefault(form, [])
            if release not in having:
                having.append(release)
    out = io.StringIO()
    words = [f"{release}={version}" for release, version in versions.items()]
    out.write(" ".join(["#", *words, *([f"# {notes}"] if notes else [])]) + "\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    order = list(versions)
    writer.writerows((*form, spans(order, found)) for form, found in sorted(forms.items()))
    return out.getvalue()


def spans(order: Sequence[str], found: Iterable[str]) -> str:
    """`0.14-0.16 0.18`, for all releases one span too; forks, whose names may have dashes, each alone."""
    if any("-" in release for release in order):
        return " ".join(found)
    parts: list[list[str]] = []
    for release in found:
        if parts and order.index(release) == order.index(parts[-1][-1]) + 1:
            parts[-1].append(release)
        else:
            parts.append([release])
    return " ".join(part[0] if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
