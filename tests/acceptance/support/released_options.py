"""A framework's own code -> the rows of its releases in backends/<framework>/released_options.csv.

`python -m tests.acceptance.support.released_options FRAMEWORK RELEASE:VERSION[=FOLDER]...` writes the table
of all releases named, oldest first, such as `0.14:0.14.0=/src/megatron-0.14.0 0.19:0.19.2`. The code lies
in the folder (a checkout, or an unpacked wheel or sdist), or in the acceptance environment of that version.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.lint.listing.argparse_options import Row
from benchmarks.lint.listing.table import COLUMNS, table
from tests.acceptance.support.environments import CHECKOUT, RECIPES, TREE, environment
from tests.acceptance.support.probe_runs import PROBES

#: The environment in which any release of a framework can be imported from a folder.
IMPORTING = {"megatron": CHECKOUT, "deepspeed": "deepspeed", "torchtitan": "torchtitan-0.2.2"}


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
