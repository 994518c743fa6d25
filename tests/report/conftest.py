"""Plans and pages that several tests of the report look at, made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import parc
from parc.api import Planned, plan_targets
from parc.report.html import report_html
from tests.support.paths import ROOT

#: Beside the name of a file: what the job is called in its page, and what its strings are.
HOSTILE = '</script><img src=x onerror="document.title=1">{{ 7*7 }}"\''


@cache
def solved(name: str) -> Planned:
    """The plans of an example."""
    return plan_targets(parc.load(ROOT / "examples" / f"{name}.par"))


@cache
def page(name: str) -> str:
    """The report of an example."""
    return report_html(solved(name))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a job whose file name, conditions and comments are HTML and script."""
    text = (ROOT / "examples" / "gpt_125m.par").read_text()
    text = text.replace(
        "goal {", 'goal {\n  require pp <= 4 : "<b>&amp;</script><script>alert(1)</script>"'
    )
    place = tmp_path_factory.mktemp("hostile") / f"{HOSTILE.replace('/', chr(0x2044))}.par"
    place.write_text(f"# {HOSTILE}\n{text}")
    return report_html(plan_targets(parc.load(place)))


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A folder to put pages into for a browser."""
    return tmp_path
