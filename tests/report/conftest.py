"""The page of a job that means harm."""

from __future__ import annotations

import pytest

import parc
from parc.api import plan_targets
from parc.report.html import report_html
from tests.support.paths import ROOT

#: In the name of the job and in a comment of it; a file's name has no slash, so it ends no element.
HOSTILE = '</script><img src=x onerror="document.title=1">{{ 7*7 }}"\''
REASON = "<b>&amp;</script><script>alert(1)</script>"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a job whose name, reasons and comments are HTML and script."""
    text = (ROOT / "examples" / "gpt_125m.par").read_text()
    text = text.replace("goal {", f'goal {{\n  require pp <= 4 : "{REASON}"')
    place = tmp_path_factory.mktemp("hostile") / f"{HOSTILE.replace('/', '')}.par"
    place.write_text(f"# {HOSTILE}\n{text}")
    return report_html(plan_targets(parc.load(place)))
