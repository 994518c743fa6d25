"""Findings that were judged by hand -> how many true ones the rules say, and how many false ones.

    python benchmarks/lint/lint_precision.py --judged CSV --root DIR [--json FILE]

DIR holds checkouts, `owner+name/` or `owner/name/`. The table has the columns repo, path, line, code, message
and verdict (true, false or arguable). A row is said when its file is linted and an error or a warning of that
code stands at its line, there or in a file that it names. Without a line, that code anywhere in the file is
the row's, if it names the options that the row's message names; without a path, in any launch file of the
repository. Arguable rows count neither way.

Exit code 2 when a file is missing.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from parc.backends.kept import Files
from parc.backends.launch_files import read_jobs
from parc.dsl.inputs.files import text_of
from parc.lint.finding import Finding
from parc.lint.judging import LintOptions, judge
from parc.lint.launch_texts import read_texts
from parc.reading.named_folders import NamedFolders

Row = Mapping[str, str]
_OPTION = re.compile(r"--[a-z][\w-]+")
_SAID = ("error", "warning")


@dataclass(frozen=True)
class Judged:
    """A row and what was found of it; `problem` says why its file was not linted."""

    row: Row
    finding: Finding | None
    problem: str | None = None

    @property
    def said(self) -> bool:
        return self.finding is not None and self.finding.severity in _SAID


def checkout(root: Path, repo: str) -> Path:
    """The folder of a repository, in either spelling."""
    joined = root / repo.replace("/", "+")
    return joined if joined.is_dir() else root / repo


def lint_file(base: Path, path: str) -> list[Finding]:
    """Every finding of the jobs of one file, read from its repository's folder, once each."""
    folder = NamedFolders(base)
    configs = read_jobs({path: text_of(base / path)}, folder=folder)
    options = LintOptions(has_folder=folder.has_folder, files=Files(folder, folder.names))
    found = (each for job in judge(configs, options) for each in job.findings)
    return list(dict.fromkeys(found))


def lint_repository(base: Path) -> list[Finding]:
    names = read_texts([base]).texts
    return [each for name in names for each in lint_file(base, str(Path(name).relative_to(base)))]


def judged_rows(rows: Iterable[Row], root: Path) -> list[Judged]:
    """Every row with its finding; rows of one file are linted together."""
    by_file: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_file.setdefault((row["repo"], row["path"]), []).append(row)
    return [judged for file, group in by_file.items() for judged in _of_file(*file, group, root)]


def _of_file(repo: str, path: str, rows: Sequence[Row], root: Path) -> list[Judged]:
    base = checkout(root, repo)
    if not (base / path).exists():
        return [Judged(row, None, f"{base / path} is not there") for row in rows]
    try:
        findings = lint_file(base, path) if path else lint_repository(base)
    except (OSError, ValueError) as error:
        return [Judged(row, None, str(error)) for row in rows]
    return list(_matched(rows, findings))


def _matched(rows: Sequence[Row], findings: Sequence[Finding]) -> Iterator[Judged]:
    """Rows with what is said of them; a hint is taken only where there is nothing worse."""
    loudest = sorted(findings, key=lambda found: found.severity not in _SAID)
    for row in rows:
        yield Judged(row, next((each for each in loudest if same(row, each)), None))


def same(row: Row, found: Finding) -> bool:
    """Whether a finding is the row's: its code, and its line or the options that its message names."""
    if found.code != row["code"]:
        return False
    span = found.diagnostic.span
    if not row["line"]:
        named = set(_OPTION.findall(row["message"]))
        return named <= set(_OPTION.findall(found.diagnostic.message))
    if span is None:
        return False
    return span.line <= int(row["line"]) <= span.line + span.text.count("\n")


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """Counts of true rows that are kept and of false rows that are said; their share is the precision."""
    true = [each for each in judged if each.row["verdict"] == "true"]
    false = [each for each in judged if each.row["verdict"] == "false"]
    kept, said = sum(each.said for each in true), sum(each.said for each in false)
    return {
        "true": {"kept": kept, "total": len(true)},
        "false": {"said": said, "total": len(false)},
        "precision": kept / (kept + said) if kept + said else None,
    }


def table(judged: Sequence[Judged]) -> Iterator[str]:
    """Lines of verdicts that do not hold, then the counts."""
    for each in judged:
        row = each.row
        place = f"{row['repo']} {row['path']}:{row['line']} {row['code']}"
        if each.problem is not None:
            yield f"missing  {place}: {each.problem}"
        elif row["verdict"] == "true" and not each.said:
            yield f"lost     {place}: {row['message']}"
        elif row["verdict"] == "false" and each.said:
            yield f"false    {place}: {row['message']}"
    result = summary(judged)
    share = result["precision"]
    yield (
        f"true: {result['true']['kept']} of {result['true']['total']} kept; "
        f"false: {result['false']['said']} of {result['false']['total']} said; "
        f"precision {'-' if share is None else f'{share:.3f}'}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--judged", type=Path, required=True, metavar="CSV")
    parser.add_argument("--root", type=Path, required=True, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    with given.judged.open(newline="", encoding="utf-8") as stream:
        judged = judged_rows(csv.DictReader(stream), given.root)
    print("\n".join(table(judged)))
    if given.json:
        given.json.write_text(json.dumps(summary(judged), indent=2) + "\n", encoding="utf-8")
    return 2 if any(each.problem for each in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
