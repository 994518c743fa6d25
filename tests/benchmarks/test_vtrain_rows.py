"""vTrain's single-node rows are put together by its simulator: shown on the rows themselves."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks.accuracy import vtrain_rows
from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.accuracy.vtrain_rows import Profile, alike, layer_seconds, ranking, unexplained
from docs.tables import COST_MODEL, together


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return vtrain_rows.vtrain()


def test_replicas_differ_by_the_simulators_all_reduce(found: list[Row]) -> None:
    """To the printed nanosecond, as no two runs would."""
    pairs = list(alike(found))
    assert len(pairs) >= 100
    assert max(abs(unexplained(*pair)) for pair in pairs) < 2e-9
    assert min(abs((one.step_time_s or 0) - (two.step_time_s or 0)) for one, two in pairs) > 1e-4


def test_a_padded_vocabulary_would_not(found: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """So the check can fail."""
    monkeypatch.setattr(vtrain_rows, "VOCABULARY", 51200)
    assert max(abs(unexplained(*pair)) for pair in alike(found)) > 1e-5


def test_a_layer_time_comes_back_from_planted_rows(found: list[Row]) -> None:
    """Steps of 5 ms, 7 for each micro-batch, and for each layer 0.3 and 2 per micro-batch."""

    def planted(row: Row) -> Row:
        count, layers = vtrain_rows.microbatches(row), row.layers or 0
        return replace(row, step_time_s=5e-3 + 7e-3 * count + (2e-3 * count + 0.3e-3) * layers)

    times = layer_seconds([planted(row) for row in found])
    assert len(times) == 32
    assert all(seconds == pytest.approx(2e-3, rel=1e-6) for seconds in times.values())


def test_the_rows_own_layer_times_leave_no_regret(found: list[Row]) -> None:
    times = layer_seconds(found)
    regret, correlation = ranking(found, times)
    assert regret == 0.0 and correlation == pytest.approx(1.0)
    slower = {it: 2 * each if it == Profile(2048, 4, 2) else each for it, each in times.items()}
    assert ranking(found, slower)[0] > 0.01


def test_the_document_shows_what_is_found(found: list[Row]) -> None:
    text = " ".join(together(COST_MODEL).split())
    regret, rank = ranking(found, vtrain_rows.polynomial(found, 2)[1])
    assert f"12 numbers picks layouts {100 * regret:.1f} % slower" in text
    times = layer_seconds(found)
    stated = re.search(r"hidden 2048 over tp 4 takes ([\d.]+), ([\d.]+) and ([\d.]+) ms", text)
    assert stated is not None
    measured = [times[Profile(2048, 4, size)] * 1e3 for size in (1, 2, 4)]
    assert [float(each) for each in stated.groups()] == pytest.approx(measured, abs=0.006)
