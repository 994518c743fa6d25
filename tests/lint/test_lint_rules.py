"""Every rule speaks on its bad example and is silent on its good one: `cases/lint/PARnnn/{bad,good}/`.

The examples stand in the rules' own texts; `pytest --update` writes them, what is printed of them, and the
pages in docs/rules. Folders beside `bad` and `good` that begin with these words are further cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import parc
from parc.lint.files import read_texts
from parc.lint.formats import FORMATS
from parc.lint.judging import Judged, LintOptions
from parc.lint.rule import HEADINGS, Rule
from parc.lint.rule_page import page
from parc.lint.rules import FAMILIES, RULES, UNKNOWN_FACT
from parc.lint.run import lint_texts
from tests.support.paths import ROOT

CASES = ROOT / "tests" / "cases" / "lint"
PAGES = ROOT / "docs" / "rules"
#: Rules that judge for a release that must be named.
VERSIONS = {"PAR313": {"megatron": "0.19"}}
#: Rules that judge how a script is started.
ARGUMENTS = {"PAR804": ("32", "4096")}

by_code = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def judged(folder: Path, rule: Rule) -> list[Judged]:
    """The jobs of a case, read from the current folder so that paths are short."""
    options = LintOptions(
        versions=VERSIONS.get(rule.code, {}), require_complete=rule is UNKNOWN_FACT
    )
    job = folder / "job.par"
    if job.exists():
        options = replace(options, job=parc.load("job.par"))
    files = sorted(path.name for path in folder.iterdir() if path.suffix not in (".par", ".txt"))
    return lint_texts(read_texts(files).texts, options, {}, ARGUMENTS.get(rule.code, ()))


def said(found: list[Judged]) -> set[str]:
    return {finding.code for each in found for finding in each.findings}


def folders(rule: Rule, kind: str) -> Iterator[Path]:
    return (path for path in sorted((CASES / rule.code).glob(f"{kind}*")) if path.is_dir())


@by_code
def test_examples_are_cases(rule: Rule, update: bool) -> None:
    for kind in ("bad", "good"):
        for name, text in rule.example(kind.capitalize()).items():
            path = CASES / rule.code / kind / name
            if update:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            assert path.read_text() == text


@by_code
def test_bad(rule: Rule, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in folders(rule, "bad"):
        monkeypatch.chdir(folder)
        found = judged(folder, rule)
        assert rule.code in said(found), folder
        printed = FORMATS["text"](found) + "\n"
        expected = folder / "printed.txt"
        if update:
            expected.write_text(printed)
        assert printed == expected.read_text()


@by_code
def test_good(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in folders(rule, "good"):
        monkeypatch.chdir(folder)
        found = judged(folder, rule)
        assert rule.code not in said(found), folder
        errors = [each for one in found for each in one.findings if each.severity == "error"]
        assert not errors, f"{folder}: {[each.diagnostic.message for each in errors]}"


@by_code
def test_pages(rule: Rule, update: bool) -> None:
    path = PAGES / f"{rule.code}.md"
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(rule))
    assert path.read_text() == page(rule)


def test_index(update: bool) -> None:
    rows = [
        f"| [{rule.code}](rules/{rule.code}.md) | {rule.name} | {rule.severity} | {rule.title} |"
        for rule in RULES
    ]
    lines = ["| code | name | level | what |", "| --- | --- | --- | --- |", *rows]
    text = "# Rules of `parc lint`\n\n" + "\n".join(lines) + "\n"
    path = ROOT / "docs" / "rules.md"
    if update:
        path.write_text(text)
    assert path.read_text() == text


def test_no_page_or_case_is_left_over() -> None:
    codes = {rule.code for rule in RULES}
    assert {path.stem for path in PAGES.glob("*.md")} == codes
    assert {path.name for path in CASES.iterdir()} == codes


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_a_family_lists_its_modules(family: ModuleType) -> None:
    (folder,) = family.__path__
    modules = {
        path.stem
        for path in Path(folder).glob("*.py")
        if re.search(r"^CODE = ", path.read_text(), re.MULTILINE)
    }
    listed = [module.__name__.rpartition(".")[2] for module in family.MODULES]
    assert set(listed) == modules and len(listed) == len(modules)


def test_every_family_is_listed() -> None:
    folders = {path.parent.name for path in (ROOT / "lint" / "rules").glob("*/__init__.py")}
    assert {family.__name__.rpartition(".")[2] for family in FAMILIES} == folders


@by_code
def test_texts(rule: Rule) -> None:
    assert set(rule.page) == {"What", *HEADINGS} and all(rule.page.values())
    assert rule.source and rule.severity in ("error", "warning", "info")
    assert not rule.title.endswith(".") and len(rule.title) > 15


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)
