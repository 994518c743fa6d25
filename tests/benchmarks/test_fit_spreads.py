"""Fitting spreads: planted ones come back, no outlier decides, and a file of one source is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import fit_spreads
from benchmarks.accuracy.fit_spreads import FITTED, OWNERS, Sweep, fitted_to, likelihood, sweep_of
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from parc.compiler.pricing.mechanisms import NAMES, WAYS
from tests.support.measured_rows import GOOD, row, write

#: Deviations of a mechanism and of a layout, and where the errors of NAMES have what they share.
PLANTED, OWN = 0.3, 0.03
LINK = NAMES.index("fast link")


def planted(sources: int) -> list[Sweep]:
    """Sweeps of twelve layouts that differ in what the fast link decides, and err by it and by their own."""
    random = np.random.RandomState(7)
    found = []
    for number in range(8 * sources):
        shares = np.zeros((12, len(NAMES) + 1))
        shares[:, LINK] = np.linspace(0.0, 0.5, 12)
        shares[:, -1] = 1.0
        own = OWN * random.standard_normal(12)
        errors = PLANTED * random.standard_normal() * shares[:, LINK] + own
        found.append(Sweep(f"source {number % sources}", errors, shares, np.eye(12)))
    return found


def deviation(found: Sequence[Sweep], name: str) -> float:
    return float(np.sqrt(fitted_to(found).variances[FITTED.index(name)]))


def test_a_planted_spread_comes_back() -> None:
    assert deviation(planted(5), "fast link") == pytest.approx(PLANTED, rel=0.3)


def test_the_fit_is_more_likely_than_half_and_twice_of_it() -> None:
    found = planted(5)
    fitted = fitted_to(found)
    best = likelihood(found, fitted)
    for factor in (0.25, 4.0):
        variances = fitted.variances.copy()
        variances[FITTED.index("fast link")] *= factor
        assert likelihood(found, replace(fitted, variances=variances)) < best


def test_one_job_far_off_does_not_decide() -> None:
    found = planted(5)
    usual = deviation(found, "fast link")
    ill = replace(found[0], errors=20 * found[0].errors)
    assert deviation([ill, *found[1:]], "fast link") < 2 * usual


def test_ways_share_one_deviation() -> None:
    assert len(set(OWNERS[[NAMES.index(name) for name in WAYS]])) == 1
    assert len(set(OWNERS)) == len(FITTED) - 1


def test_a_sweep_of_runs() -> None:
    """Two runs of one layout and one of another: errors as logarithms, shares and layouts by run."""
    setups = [setup_of(row(mbs=each, vpp="1")) for each in ("1", "1", "2")]
    runs = [Scored(each, predict(each), 2 * predict(each).seconds) for each in setups]
    found = sweep_of(runs)
    assert found.errors == pytest.approx(np.log([2.0, 2.0, 2.0]))
    assert found.layouts.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert found.shares.shape == (3, len(NAMES) + 1) and (found.shares[:, -1] == 1).all()
    assert 0.3 < found.shares[0, NAMES.index("products")] < 1.0


def test_leaving_out_needs_two_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "runs.csv", {**GOOD, "source": "one", "step_time_s": "10"})
    assert fit_spreads.main(["--data", str(path)]) == 1
    assert "fewer than two sources" in capsys.readouterr().err
    assert fit_spreads.main(["--data", str(tmp_path / "none.csv")]) == 2
