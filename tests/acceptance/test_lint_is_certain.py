"""Working launches with one seeded edit each: what the frameworks' own start refuses, `parc lint` fails, and
what works it passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.support.certain_failures import FRAMEWORKS, Tried, run, table

#: Edits of a session's sample, and of a whole run.
SAMPLE, WHOLE = 24, 120
#: Of the edits that stop, the least share that lint fails.
LEAST = 0.8


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_stops_fails_and_what_works_passes(
    framework: str, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    whole = pytestconfig.option.all
    clean, edited = run(
        framework, pytestconfig.option.seed, WHOLE if whole else SAMPLE, 6 if whole else 0, tmp_path
    )
    print("\n".join(table(clean, edited)))
    assert [each.name for each in clean if each.stops or each.code] == []
    stops = [each for each in edited if each.stops]
    assert len(stops) > len(edited) // 8
    assert len([each for each in stops if each.code == 1]) >= LEAST * len(stops)
    assert len(_false(edited)) <= len(edited) // 50 + 1


def _false(edited: list[Tried]) -> list[Tried]:
    return [each for each in edited if each.verdict == "false"]
