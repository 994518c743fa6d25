"""docs/limits.md: each command is refused with the code beside it, and errors say what the page says."""

from __future__ import annotations

import re
import shlex

import pytest

from parc.__main__ import main
from parc.dsl.unsupported import ALL
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "limits.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| `parc ([^|`]+)` \| (PAR\d+) \|$", PAGE, re.MULTILINE)


def test_every_command_of_the_page_is_a_row() -> None:
    assert len(ROWS) == len(re.findall(r"`parc (?:check|plan) ", PAGE)) > 6


@pytest.mark.parametrize(("words", "command", "code"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_refused(
    words: str,
    command: str,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)) in (1, 2)  # 2: `--set` says what no job can
    assert f"error[{code}]" in capfd.readouterr().err, words


def test_what_is_not_planned_is_there_in_the_words_of_its_error() -> None:
    assert [each.what for each in ALL if f"| {each.what} |" not in PAGE] == []
