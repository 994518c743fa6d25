"""Fitting efficiencies: a planted value comes back from the priors, the values in use are where the fit ends,
and a file that cannot be fitted is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import accuracy, fit
from benchmarks.accuracy.fit_by_descent import (
    Fit,
    Parameter,
    Point,
    Sample,
    Sources,
    loss_of,
    sample_of,
    seconds_at,
)
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from parc.dsl import std_gpu
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


def moved(parameters: tuple[Parameter, ...], sources: Sources) -> list[tuple[str, float, float]]:
    """The parameters that another round takes further than their rounding: label, in use, fitted."""
    descent, used = Fit(parameters), tuple(it.current() for it in parameters)
    return [
        (it.label, it.used, value * it.step)
        for it, value in zip(
            parameters, descent.settle(descent.priced(sources, used), used), strict=True
        )
        if abs(value - it.used / it.step) > fit.TOLERANCE
    ]


def test_runs_with_experts_tell_nothing_of_a_gpu() -> None:
    plain = sample_of(setup_of(row()), 1.0, fit.PARAMETERS)
    experts = sample_of(
        setup_of(row(model="Mixtral-8x7B", experts="8", topk="2", moe_ffn_hidden="14336")),
        1.0,
        fit.PARAMETERS,
    )
    assert fit.dense({"one": [plain, experts], "two": [experts]}) == {"one": [plain]}


def test_the_values_in_use_are_where_the_fit_ends() -> None:
    """One more round from them moves no parameter by more than its rounding."""
    far = [
        *moved(fit.PARAMETERS, fit.dense(fit.samples(accuracy.DATA))),
        *moved(fit.GAPS, fit.samples(accuracy.DATA, parameters=fit.GAPS)),
    ]
    assert not far, f"label, in use, fitted: {far}; run benchmarks/accuracy/fit.py"


#: Chips of one architecture, the later one last.
SIBLINGS = (
    ("a100_40", "a100_80"), ("h100_sxm", "h200"), ("b200", "gb200"), ("b200", "b300"),
    ("gb200", "gb300"), ("mi300x", "mi325x"), ("mi350x", "mi355x"),
)  # fmt: skip


@pytest.mark.parametrize(("older", "later"), SIBLINGS)
def test_a_later_chip_of_one_architecture_multiplies_no_slower(older: str, later: str) -> None:
    for field in ("bf16", "fp8", "fp4"):
        efficiency = {"bf16": "matmul_efficiency"}.get(field, f"{field}_efficiency")
        rates = [
            (getattr(gpu, field) or 0.0) * (getattr(gpu, efficiency) or 0.0)
            for gpu in (std_gpu(older), std_gpu(later))
        ]
        assert rates[1] >= rates[0], field


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
