"""Every rule's page: its bad example is found with this text, its good one passes, and nothing is missing.

What `parc lint` prints of the bad example is `cases/lint/PARnnn.txt`; `pytest --update` writes it.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from parc.__main__ import main
from parc.lint.rule import FIRST, HEADINGS, Rule
from parc.lint.rule_page import index, page
from parc.lint.rules import FAMILIES, RULES
from tests.support.command_line import without_library_lines
from tests.support.linted import Captured
from tests.support.paths import ROOT

CASES = ROOT / "tests" / "cases" / "lint"
#: No example is the best plan of its job, so every example with a job has drifted from the plan.
DRIFT = "PAR162"
#: A finding's first line.
FOUND = re.compile(r"^(error|warning|info)\[(PAR\d{3})\]: ", re.MULTILINE)

by_code = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def printed(rule: Rule, heading: str, capsys: Captured) -> str:
    """What `parc lint` prints of an example, without the summary in the last line."""
    for name, text in rule.example(heading).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    main(["lint", "--own-levels", "--hints", *rule.arguments(heading)])
    captured = capsys.readouterr()
    assert not captured.err
    return captured.out.rstrip("\n").rpartition("\n")[0].rstrip("\n") + "\n"


def levels(text: str) -> dict[str, str]:
    """The worst level of every code that was found."""
    found: dict[str, str] = {}
    for level, code in sorted(FOUND.findall(text), reverse=True):
        found[code] = level
    return found


@by_code
def test_the_bad_example_fails_for_this_rule_alone(
    rule: Rule, update: bool, capsys: Captured
) -> None:
    text = without_library_lines(printed(rule, "Bad", capsys))
    found = levels(text)
    assert rule.code in found
    assert {code for code, level in found.items() if level != "info"} <= {rule.code, DRIFT}
    expected = CASES / f"{rule.code}.txt"
    if update:
        expected.write_text(text)
    assert text == expected.read_text()


@by_code
def test_the_good_example_passes(rule: Rule, capsys: Captured) -> None:
    found = levels(printed(rule, "Good", capsys))
    assert rule.code not in found
    assert {code for code, level in found.items() if level != "info"} <= {DRIFT}


@by_code
def test_a_page_says_everything(rule: Rule) -> None:
    assert set(rule.page) == {"What", *HEADINGS}
    written = page(rule)
    texts = [rule.code, rule.title, rule.page["What"], rule.page["Why"], rule.source]
    examples = [text for heading in ("Bad", "Good") for text in rule.example(heading).values()]
    for text in (*texts, *examples):
        assert len(text.strip()) > 5 and text.strip() in written
    assert "\n## Fails\n" in written and "\n## Passes\n" in written


def test_pages_are_written_with_an_index(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "rules"
    assert main(["rules", "--pages", str(folder)]) == 0
    written = {path.name: path.read_text() for path in folder.iterdir()}
    pages = {f"{rule.code}.md": page(rule) for rule in RULES}
    assert written == {"README.md": index(RULES), **pages}
    assert set(re.findall(r"\]\((.+?)\)", written["README.md"])) == set(pages)


def test_no_case_is_left_over() -> None:
    assert {path.name for path in CASES.iterdir()} == {f"{rule.code}.txt" for rule in RULES}


def name_of(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_a_family_lists_its_modules(family: ModuleType) -> None:
    (folder,) = family.__path__
    modules = {
        path.stem
        for path in Path(folder).glob("*.py")
        if re.search(r"^CODE = ", path.read_text(), re.MULTILINE)
    }
    assert sorted(map(name_of, family.MODULES)) == sorted(modules)


def test_every_family_is_listed() -> None:
    folders = {path.parent.name for path in (ROOT / "lint" / "rules").glob("*/__init__.py")}
    assert set(map(name_of, FAMILIES)) == folders


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


def test_a_rule_says_in_which_set_it_first_speaks() -> None:
    """Rules without `SINCE` are those of the first set, which is as it was."""
    first = (CASES.parent / f"rules_{FIRST}.txt").read_text().split()
    assert [rule.code for rule in RULES if rule.since == FIRST] == first
