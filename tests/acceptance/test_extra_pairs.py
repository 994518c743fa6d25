"""Two options in `extra`, each legal, on one layout: what parc writes Megatron-LM's own start takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.support.drawn_pairs import Pair, pairs, settable, written
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.test_megatron_accepts import case_of

DRAWS = 120


def test_megatron_starts_with_what_parc_writes(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    drawn = pairs(DRAWS, pytestconfig.option.seed, settable())
    asked: dict[str, Pair] = {f"pair-{number}": pair for number, pair in enumerate(drawn)}
    jobs = [job for name, pair in asked.items() if (job := written(pair, name))]
    assert len(jobs) > DRAWS // 4
    cases = [case_of(job, tmp_path, build=False) for job in jobs]
    answers = probe("megatron", "megatron_probe", cases, tmp_path)
    wrong = [
        (asked[answer["name"]], answer["error"])
        for answer in answers
        if answer["stage"] != "accepted"
    ]
    assert len(wrong) <= len(jobs) // 50, wrong
