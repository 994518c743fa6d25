"""How well real launch files are read: a manifest of files with their facts -> right, unknown, wrong.

    python benchmarks/lint/lint_score.py --manifest CSV --root DIR [--data DIR] [--json FILE]

DIR holds checkouts named `owner+name/`; a row whose `copy` column names a file is read from --data, which is
the manifest's own folder unless it is given. `invocation` are the script's arguments, `env` its variables
(`NODES=2 TP=8`, as --env), and `also` other files of the job, from the checkout's root or beside the script.
A cell is right when the readers say the same, unknown when they say that the text does not decide it, and
wrong otherwise; where the manifest says `unknown(...)`, unknown is right.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.lint.score_cells import Answer, verdict
from benchmarks.lint.score_defects import Defects, defects_of
from benchmarks.lint.score_defects import summary as defect_summary
from benchmarks.lint.score_defects import wanted as wanted_defects
from parc.backends.launch_files import read_jobs
from parc.dsl.inputs.files import text_of
from parc.reading.facts import LaunchConfig, Unknown
from parc.reading.named_folders import NamedFolders

#: Columns that hold facts, some under names of their own (`score_cells.FACT_OF`).
_COLUMNS = """nodes gpus_per_node world tp pp vpp cp ep etp ulysses_sp dp zero_stage mbs gbs rampup
    seq_len layers hidden heads kv_heads experts precision recompute seq_parallel dist_opt
    microbatches pods gpus_per_pod"""
FACTS = tuple(_COLUMNS.split())
Row = Mapping[str, str]


@dataclass(frozen=True)
class Cell:
    name: str
    wanted: str
    answer: Answer
    verdict: str


@dataclass(frozen=True)
class Scored:
    """One file of the manifest; `problem` says why it was not read."""

    row: Row
    cells: tuple[Cell, ...]
    defects: Defects
    problem: str | None = None


def score(row: Row, root: Path, data: Path) -> Scored:
    base = data if row.get("copy") else root / row["repo"].replace("/", "+")
    name = row.get("copy") or row["path"]
    try:
        texts = {path: text_of(base / path) for path in (name, *_others(row, base, name))}
    except (OSError, ValueError) as error:
        problem = f"{base / name}: {getattr(error, 'strerror', None) or error}"
        return Scored(row, tuple(_cells(row, [])), wanted_defects(row), problem)
    arguments = row.get("invocation", "").split() if not row.get("copy") else []
    configs = read_jobs(
        texts,
        environment=_variables(row.get("env", "")),
        arguments=arguments,
        folder=NamedFolders(base),
    )
    cells = tuple(_cells(row, configs))
    return Scored(row, cells, defects_of(row, configs))


def _variables(written: str) -> dict[str, str]:
    """`A=1 B="two words"` by name. Raises `ValueError` for what is no assignment."""
    pairs = [word.partition("=") for word in shlex.split(written.replace(";", " "))]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        raise ValueError(f"`{wrong[0]}` in column env is no NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _others(row: Row, base: Path, name: str) -> list[str]:
    """The job's other files, as `also` names them."""
    folder = PurePosixPath(name).parent
    given = re.split(r"[;,\s]+", row.get("also", "").strip())
    return [each if (base / each).exists() else str(folder / each) for each in given if each]


def _cells(row: Row, configs: Sequence[LaunchConfig]) -> Iterator[Cell]:
    for name in FACTS:
        wanted = row.get(name, "").strip()
        if wanted:
            answers = [verdict(name, wanted, config.values()) for config in configs]
            yield Cell(name, wanted, *_agreed(answers))


def _agreed(answers: Sequence[tuple[Answer, str]]) -> tuple[Answer, str]:
    """The answer of all jobs of a script; unknown where they differ."""
    if not answers:
        return None, "unknown"
    if all(answer == answers[0] for answer in answers):
        return answers[0]
    return Unknown("the jobs of this file differ in it"), "unknown"


def summary(scored: Sequence[Scored]) -> dict[str, Any]:
    cells = [cell for item in scored for cell in item.cells]
    valued = [cell for cell in cells if not cell.wanted.startswith("unknown")]
    open_cells = [cell for cell in cells if cell.wanted.startswith("unknown")]
    count = {kind: sum(cell.verdict == kind for cell in valued) for kind in ("right", "unknown")}
    facts = {
        **count,
        "wrong": sum(cell.verdict == "wrong" for cell in cells),
        "cells": len(valued),
        "unknown_cells": len(open_cells),
        "unknown_cells_right": sum(cell.verdict == "right" for cell in open_cells),
    }
    return {
        "facts": facts,
        "defects": defect_summary([item.defects for item in scored]),
        "by_file": [_file(item) for item in scored],
    }


def _file(item: Scored) -> dict[str, Any]:
    kinds = [cell.verdict for cell in item.cells]
    return {
        "id": item.row["id"],
        "path": f"{item.row['repo']}/{item.row['path']}",
        **{kind: kinds.count(kind) for kind in ("right", "unknown", "wrong")},
        "problem": item.problem,
        "not_right": [
            {"fact": cell.name, "wanted": cell.wanted, "answer": _shown(cell.answer)}
            for cell in item.cells
            if cell.verdict != "right"
        ],
        **item.defects.record(),
    }


def _shown(answer: Answer) -> str:
    return f"unknown: {answer.reason}" if isinstance(answer, Unknown) else str(answer)


def table(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'file':<6}{'right':>7}{'unknown':>9}{'wrong':>7}  not right"
    for item in result["by_file"]:
        rest = "; ".join(
            f"{cell['fact']} {cell['wanted']!r}: {cell['answer']}" for cell in item["not_right"]
        )
        rest = item["problem"] or rest
        yield f"{item['id']:<6}{item['right']:>7}{item['unknown']:>9}{item['wrong']:>7}  {rest}".rstrip()
    facts, defects = result["facts"], result["defects"]
    share = 100 * facts["right"] / facts["cells"] if facts["cells"] else 0
    yield ""
    yield (
        f"facts: {facts['right']} of {facts['cells']} cells right ({share:.1f} %), "
        f"{facts['unknown']} unknown, {facts['wrong']} wrong; "
        f"{facts['unknown_cells_right']} of {facts['unknown_cells']} unknown cells answered unknown"
    )
    yield (
        f"defects: {defects['found']} of {defects['total']} found, "
        f"{defects['false_errors']} false errors, {defects['false_warnings']} false warnings"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    with given.manifest.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    data = given.data or given.manifest.parent
    scored = [score(row, given.root, data) for row in rows]
    result = summary(scored)
    print("\n".join(table(result)))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
