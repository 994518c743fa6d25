"""The site builds without a warning and loads nothing from elsewhere, and the man page is the parsers'."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.reference import codes, command_line, man, pages
from parc.__main__ import parser
from parc.commands import modules
from parc.commands.rules import all_rules
from parc.dsl import std_entries
from tests.support.paths import ROOT

#: Attributes by which a page makes a browser fetch something, by element.
_FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_STYLED = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)")


class _Fetched(HTMLParser):
    """Addresses that a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name == _FETCHED.get(tag)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed: no site is built")
    pytest.importorskip("material", reason="the extra `docs` is not installed: no site is built")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    read = 0
    for path in site.rglob("*.html"):
        page = _Fetched()
        page.feed(path.read_text())
        read += len(page.found)
        outside = [each for each in page.found if re.match(r"(?:https?:)?//", each)]
        assert outside == [], path
    assert read > 1000
    for path in site.rglob("*.css"):
        assert _STYLED.findall(path.read_text()) == [], path


def test_the_site_has_every_page_and_finds_them(site: Path) -> None:
    for place in pages():
        assert (site / place).with_suffix(".html").is_file(), place
    index = (site / "search" / "search_index.json").read_text()
    assert all(word in index for word in ("PAR031", "gb200_nvl72", "global_batch"))


def test_every_code_command_and_entry_has_a_place() -> None:
    made = pages()
    assert {f"reference/codes/{rule.code}.md" for rule in all_rules()} <= made.keys()
    text = made["reference/command-line.md"]
    assert [each.NAME for each in modules() if f"\n## parc {each.NAME}\n" not in text] == []
    library = made["reference/hardware.md"] + made["reference/models.md"]
    assert [each.name for each in std_entries() if f"\n### {each.name}\n" not in library] == []


def test_a_page_of_a_code_has_an_example_that_says_it() -> None:
    page = codes.pages("codes")["codes/PAR031.md"]
    assert "kv_heads = 3" in page and "error[PAR031]: 3 kv_heads do not divide 8 heads" in page


def test_the_reference_has_every_option() -> None:
    (commands,) = (
        each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)
    )
    options = [
        action.option_strings
        for sub in commands.choices.values()
        for action in sub._actions
        if action.option_strings and action.dest != "help"
    ]
    text, roff = command_line.page(), man.page()
    assert len(options) > 60
    for names in options:
        assert all(f"`{name}" in text for name in names), names
        assert all(f"\\fB{name.replace('-', chr(92) + '-')}" in roff for name in names), names


def test_the_man_page_is_that_of_the_parsers(update: bool) -> None:
    if update:
        man.PAGE.write_text(man.page())
    assert man.PAGE.read_text() == man.page(), "run `python -m docs.reference.man`"


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here to render the man page")
def test_groff_renders_the_man_page_without_a_warning() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", str(man.PAGE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "parc" in done.stdout and "completion" in done.stdout
