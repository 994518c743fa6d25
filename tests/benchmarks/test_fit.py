"""Fitting efficiencies: a planted value comes back from the priors, the values in use are where the fit ends,
and a file that cannot be fitted is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import accuracy, fit
from benchmarks.accuracy.fit_by_descent import Fit, Point, Sample, loss_of, sample_of, seconds_at
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from tests.support.measured_rows import GOOD, row, write

FIT = Fit(fit.PARAMETERS)
USED = tuple(parameter.current() for parameter in fit.PARAMETERS)
PRODUCTS = next(
    number for number, it in enumerate(fit.PARAMETERS) if it.label == "Ampere matmul_efficiency"
)


def planted(point: Point) -> dict[str, list[Sample]]:
    """Two sources whose measurements are the model's own at `point`; without fused attention memory's rate
    counts for more."""
    found = {}
    for source, attention, micro_batches in (("one", "flash", "4 16"), ("two", "unfused", "2 16")):
        setups = [
            setup_of(row(mbs=each, vpp="1", attention=attention)) for each in micro_batches.split()
        ]
        plain = [sample_of(setup, 1.0, fit.PARAMETERS) for setup in setups]
        found[source] = [
            replace(each, measured=math.exp(FIT.errors([each], point)[0])) for each in plain
        ]
    return found


def test_a_planted_efficiency_comes_back_from_another_start() -> None:
    there = (*USED[:PRODUCTS], USED[PRODUCTS] + 4, *USED[PRODUCTS + 1 :])
    sources = planted(there)
    found = FIT.descend(sources, USED)
    assert found[PRODUCTS] == there[PRODUCTS]
    assert all(np.abs(FIT.errors(each, found)).max() < 0.005 for each in sources.values())
    assert all(np.abs(FIT.errors(each, USED)).min() > 0.01 for each in sources.values())


def test_many_values_of_a_parameter_price_as_each_alone_does() -> None:
    """The array of rates gives what accuracy.py predicts."""
    setup = setup_of(row(mbs="2", vpp="1"))
    sample = sample_of(setup, 1.0, fit.PARAMETERS)
    own = [float(USED[number]) for number in sample.concerned]
    several = np.array([own, [each + 1 for each in own]])
    found = seconds_at(sample, fit.PARAMETERS, several)
    assert found[0] == pytest.approx(predict(setup).seconds, rel=1e-6)
    alone = seconds_at(sample, fit.PARAMETERS, several[1:])
    assert found[1] == pytest.approx(alone[0], rel=1e-9) and found[1] != found[0]


def test_the_values_in_use_are_where_the_fit_ends() -> None:
    """One more round from them moves no parameter by more than its rounding."""
    sources = fit.samples(accuracy.DATA)
    moved = FIT.settle(FIT.priced(sources, USED), USED)
    far = [
        (it.label, it.used, value * it.step)
        for it, value in zip(fit.PARAMETERS, moved, strict=True)
        if abs(value - it.used / it.step) > fit.TOLERANCE
    ]
    assert not far, f"label, in use, fitted: {far}; run benchmarks/accuracy/fit.py"


def test_values_in_use_lie_within_their_bounds() -> None:
    for parameter in fit.PARAMETERS:
        assert parameter.low <= parameter.current() <= parameter.high
        assert parameter.low <= parameter.prior <= parameter.high


def test_the_loss_is_the_size_of_an_error() -> None:
    assert loss_of(np.array([0.3])) - loss_of(np.array([-0.2])) == pytest.approx(0.1, rel=0.02)
    assert loss_of(np.array([0.01])) < 0.002


def test_one_source_cannot_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit.main(["--data", str(write(tmp_path / "runs.csv", GOOD))]) == 1
    assert fit.main(["--data", str(tmp_path / "none.csv")]) == 2
    assert "fewer than two sources" in capsys.readouterr().err
