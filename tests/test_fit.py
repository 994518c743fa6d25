"""Fitting efficiencies: a planted value comes back, and a file that cannot be fitted is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import fit
import pytest
from test_accuracy import GOOD, row, write

PRODUCTS = next(
    number for number, it in enumerate(fit.PARAMETERS) if it.label == "Ampere matmul_efficiency"
)
START = tuple(parameter.current() for parameter in fit.PARAMETERS)


def planted(point: fit.Point) -> dict[str, list[fit.Sample]]:
    """Two sources whose measurements are the model's own at `point`."""
    found = {}
    for source, micro_batches in (("one", ("1", "4")), ("two", ("2", "16"))):
        runs = [fit.setups.setup_of(row(mbs=each, vpp="1")) for each in micro_batches]
        concerned = tuple(k for k, it in enumerate(fit.PARAMETERS) if it.concerns(runs[0].asked))
        plain = [fit.Sample(setup, 1.0, concerned) for setup in runs]
        found[source] = [
            replace(each, measured=math.exp(fit.errors_at([each], point)[0])) for each in plain
        ]
    return found


def test_a_planted_efficiency_comes_back() -> None:
    there = (*START[:PRODUCTS], START[PRODUCTS] + 5, *START[PRODUCTS + 1 :])
    sources = planted(there)
    found = fit.fit(sources, START, fit.STRIDES)
    assert found[PRODUCTS] == there[PRODUCTS]
    assert fit.loss(sources, found) < 1e-12 < fit.loss(sources, START)
    assert set(fit.left_out(sources, found).values()) == {found}


def test_values_in_use_lie_within_their_bounds() -> None:
    for parameter in fit.PARAMETERS:
        assert parameter.low <= parameter.current() <= parameter.high


def test_the_loss_grows_slowly_beyond_a_tenth() -> None:
    assert fit.huber(0.05) == pytest.approx(0.05**2 / 2)
    assert fit.huber(-0.3) - fit.huber(-0.2) == pytest.approx(0.01)


def test_one_source_cannot_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit.main(["--data", str(write(tmp_path / "runs.csv", GOOD))]) == 1
    assert fit.main(["--data", str(tmp_path / "none.csv")]) == 2
    assert "fewer than two sources" in capsys.readouterr().err
