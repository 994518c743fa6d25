"""A framework's own code -> the rows of its releases in backends/<framework>/released_options.csv.

`python -m tests.acceptance.support.released_options FRAMEWORK RELEASE:VERSION[=FOLDER]...` writes the table
of all releases named, oldest first, such as `0.14:0.14.0=/src/megatron-0.14.0 0.19:0.19.2`. The code lies
in the folder (a checkout, or an unpacked wheel or sdist), or in the acceptance environment of that version.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.acceptance.support.environments import CHECKOUT, RECIPES, TREE, environment
from tests.acceptance.support.probe_runs import PROBES

Row = dict[str, str]
#: The environment in which any release of a framework can be imported from a folder.
IMPORTING = {"megatron": CHECKOUT, "deepspeed": "deepspeed", "torchtitan": "torchtitan-0.2.2"}
COLUMNS = ("name", "kind", "count", "choices", "default", "instead", "releases")


def listed(framework: str, version: str, folder: Path | None = None) -> list[Row]:
    """The options of the release that an environment has, or of the code in a folder."""
    apart = f"{framework}-{version}" in RECIPES
    made = environment(
        IMPORTING[framework] if folder else f"{framework}-{version}" if apart else framework
    )
    path = {"PYTHONPATH": str(folder)} if folder else {}
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "rows.json"
        program = PROBES / f"{framework}_options_probe.py"
        command = [str(made.python), str(program), str(out)]
        done = subprocess.run(command, env=made.variables(**path), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"{program.name} ended with {done.returncode}:\n{done.stderr[-3000:]}"
            )
        rows: list[Row] = json.loads(out.read_text())
    return [{**dict.fromkeys(COLUMNS[:-1], ""), **row} for row in rows]


def table(rows: dict[str, list[Row]], versions: dict[str, str]) -> str:
    """The file: a row for each form of an option, with the releases that have it so."""
    forms: dict[tuple[str, ...], list[str]] = {}
    for release in versions:
        for row in rows[release]:
            forms.setdefault(tuple(row[name] for name in COLUMNS[:-1]), []).append(release)
    out = io.StringIO()
    out.write(f"# {' '.join(f'{release}={version}' for release, version in versions.items())}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    order = list(versions)
    writer.writerows((*form, spans(order, found)) for form, found in sorted(forms.items()))
    return out.getvalue()


def spans(order: list[str], found: Iterable[str]) -> str:
    """`0.14-0.16 0.18`, for all of the releases one span too."""
    parts: list[list[str]] = []
    for release in found:
        if parts and order.index(release) == order.index(parts[-1][-1]) + 1:
            parts[-1].append(release)
        else:
            parts.append([release])
    return " ".join(part[0] if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def main(framework: str, *releases: str) -> None:
    rows, versions = {}, {}
    for each in releases:
        names, _, folder = each.partition("=")
        release, _, version = names.partition(":")
        rows[release] = listed(framework, version, Path(folder) if folder else None)
        versions[release] = version
    path = TREE / "backends" / framework / "released_options.csv"
    path.write_text(table(rows, versions))
    print(f"{path}: {', '.join(f'{len(found)} in {name}' for name, found in rows.items())}")


if __name__ == "__main__":
    main(*sys.argv[1:])
