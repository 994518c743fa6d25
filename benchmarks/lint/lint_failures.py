"""Which of the failures that people reported the rules find in the files: folders of them -> found, missed.

    python benchmarks/lint/lint_failures.py [--data DIR] [--json FILE] [--show ID]

A folder is a failure (`benchmarks/lint/failures.py`). `parc lint .` judges its files, as they were and as
they work. It is found when each finding that it wants is said as an error or a warning at the line
where the cause is, and none of these rules says anything of the version that works.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
import parc
from benchmarks.lint.failures import SPEC, Failure, load_all
from parc.dsl.diagnostics import JobError
from parc.lint.finding import Finding
from parc.lint.judging import Judged, LintOptions, findings
from parc.lint.run import lint_paths

FAILURES = Path(__file__).resolve().parents[1] / "data" / "failures"
#: Framework of a failure -> whose releases it names, where that is another one.
RELEASES_OF = {"megatron-deepspeed": "deepspeed", "accelerate": "transformers"}


@dataclass(frozen=True)
class Tried:
    """`said` of the files as they were, `of_fixed` of those that work."""

    failure: Failure
    said: tuple[Finding, ...] = ()
    of_fixed: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> str:
        """`found`; else `missed`, `always` (also said where it works), `elsewhere` or a `hint` alone."""
        wanted = self.failure.wanted
        if not self.failure.decidable:
            return "undecidable"
        codes = {each.code for each in wanted}
        if not codes <= {each.code for each in self.said}:
            return "missed"
        if codes & {each.code for each in self.of_fixed}:
            return "always"
        places = {(each.code, each.file, each.line) for each in wanted}
        if not places <= _places(self.said):
            return "elsewhere"
        loud = _places(each for each in self.said if each.severity != "info")
        return "found" if places <= loud else "hint"

    @property
    def errors_of_fixed(self) -> list[str]:
        return sorted(each.code for each in self.of_fixed if each.severity == "error")


def _places(said: Iterable[Finding]) -> set[tuple[str, str, int]]:
    """Code, file and line of findings, and of the other places that they show."""
    return {
        (each.code, span.source.name, span.line)
        for each in said
        for span in (each.diagnostic.span, *(note.span for note in each.diagnostic.notes))
        if span is not None
    }


def lint(failure: Failure, files: Mapping[str, str]) -> tuple[Finding, ...]:
    """Findings on files in a folder of their own, which is the current one while they are judged."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(text.encode())
        options = LintOptions(
            job=parc.load(SPEC) if SPEC in files else None, versions=_versions(failure)
        )
        judged = _judged(failure, options)
    return tuple(findings(judged))


def _judged(failure: Failure, options: LintOptions) -> list[Judged]:
    """Nothing where no file of the failure is taken for a launch: then it is not found."""
    try:
        return lint_paths(".", options, failure.environment, failure.arguments)
    except JobError:
        return []


def _versions(failure: Failure) -> dict[str, str]:
    framework = RELEASES_OF.get(failure.framework, failure.framework)
    return {framework: failure.release} if failure.release else {}


def tried(failure: Failure) -> Tried:
    if not failure.decidable:
        return Tried(failure)
    return Tried(failure, lint(failure, failure.files), lint(failure, failure.cured()))


def record(rows: Sequence[Tried]) -> dict[str, Any]:
    decidable = [each for each in rows if each.failure.decidable]
    not_found = {each.failure.id: each.verdict for each in decidable if each.verdict != "found"}
    return {
        **_score(decidable),
        "missed": list(not_found),
        "why": not_found,
        "by_rule": _by(decidable, lambda each: {wanted.code for wanted in each.failure.wanted}),
        "by_framework": _by(decidable, lambda each: {each.failure.framework}),
        "drawn": _score([each for each in decidable if each.failure.drawn]),
        "errors_of_fixed": {
            each.failure.id: each.errors_of_fixed for each in decidable if each.errors_of_fixed
        },
        "undecidable": {
            each.failure.id: each.failure.reason for each in rows if not each.failure.decidable
        },
    }


def _score(rows: Sequence[Tried]) -> dict[str, int]:
    return {"found": sum(each.verdict == "found" for each in rows), "decidable": len(rows)}


def _by(rows: Iterable[Tried], names: Callable[[Tried], set[str]]) -> dict[str, dict[str, int]]:
    """Found and all of each name; a code that is empty is that of no rule."""
    found: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for each in rows:
        for name in names(each):
            of[name or "no rule"] += 1
            found[name or "no rule"] += each.verdict == "found"
    return {name: {"found": found[name], "of": of[name]} for name in sorted(of)}


def table(rows: Iterable[Tried], result: Mapping[str, Any]) -> Iterator[str]:
    for each in rows:
        codes = ", ".join(wanted.code or "no rule" for wanted in each.failure.wanted)
        more = each.failure.reason or f"{codes}: {each.failure.cause}"
        yield f"{each.failure.id:<28}{each.verdict:<13}{more}"
    drawn, others = result["drawn"], len(result["undecidable"])
    yield ""
    yield f"{result['found']} of {result['decidable']} that the files decide are found"
    yield f"{drawn['found']} of {drawn['decidable']} of those drawn; not decided by files: {others}"
    yield f"working versions with an error: {len(result['errors_of_fixed'])}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=FAILURES, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--show", metavar="ID", help="print what is said of one failure")
    given = parser.parse_args(arguments)
    failures = [each for each in load_all(given.data) if given.show in (None, each.id)]
    if not failures:
        parser.error(f"no failure in {given.data}" + (f" is {given.show}" if given.show else ""))
    rows = [tried(each) for each in failures]
    if given.show:
        print("\n".join(_shown(rows[0])))
        return 0
    result = record(rows)
    print("\n".join(table(rows, result)))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def _shown(row: Tried) -> Iterator[str]:
    for title, said in (("as it was", row.said), ("as it works", row.of_fixed)):
        yield f"{title}:"
        for each in said:
            places = ", ".join(f"{file}:{line}" for _, file, line in sorted(_places([each])))
            yield f"  {places}: {each.severity} {each.code} {each.diagnostic.message}"
    yield row.verdict


if __name__ == "__main__":
    sys.exit(main())
