"""README and tutorial in an empty folder with an empty HOME: each command prints and ends as shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.newcomer import PAGES, Answer, commands, typed


@pytest.mark.parametrize("page", PAGES)
def test_every_command_works_as_shown(page: str, tmp_path: Path) -> None:
    answers = list(typed(page, Path(sys.executable).parent, tmp_path))
    assert len(answers) == len(list(commands(page))) > 4
    assert [answer for answer in answers if not answer.right] == []


def test_a_wrong_answer_is_seen() -> None:
    shown = "error[PAR011]: unknown setting\n"
    assert Answer("parc check job.par", shown, shown, 1).right
    assert not Answer("parc check job.par", shown, shown, 0).right
    assert not Answer("parc plan job.par", "fine\n", "fine\n", 1).right
    assert not Answer("parc plan job.par", "fine\n", "other\n", 0).right
