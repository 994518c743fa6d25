"""Constants of kernels are found again where they were planted, and are what they were when a fit is over."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import fit_kernels
from benchmarks.measured_kernels.price import seconds
from benchmarks.measured_kernels.rows import Kernel, kernel_of

SIZES = (2**16, 2**19, 2**21, 2**24, 2**29)


def collective(ranks: int, sent: int, microseconds: float = 1.0) -> Kernel:
    record = {"kind": "collective", "gpu": "H100-SXM", "dtype": "bf16", "op": "all_gather"}
    return kernel_of(
        {
            **record,
            "ranks": str(ranks),
            "bytes": str(sent),
            "microseconds": repr(microseconds),
        }
    )


def planted(point: fit_kernels.Point) -> fit_kernels.Fit:
    with fit_kernels.in_use("collective", point):
        found = [
            collective(ranks, sent, 1e6 * seconds(collective(ranks, sent)))
            for ranks in (2, 4, 8)
            for sent in SIZES
        ]
    return fit_kernels.Fit("collective", found)


def test_a_planted_constant_comes_back() -> None:
    used = fit_kernels.current("collective")
    fit = planted((used[0] * 1.3, *used[1:]))
    everything = np.arange(len(fit.rows))
    found = fit.descend(used, everything)
    assert fit.loss(found, everything) < 0.2 * fit.loss(used, everything)
    assert fit_kernels.current("collective") == used


def test_shapes_and_gpus_are_left_out_whole() -> None:
    fit = planted(fit_kernels.current("collective"))
    folds = fit.folds()
    assert sorted(np.concatenate(folds)) == list(range(len(fit.rows)))
    assert len(fit.gpus()) == 1
    shapes = [{fit.rows[number].shape for number in fold} for fold in folds]
    assert not set.intersection(*shapes)


def test_a_file_that_is_not_there_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert fit_kernels.main(["--data", "no/such.csv"]) == 2
    assert capsys.readouterr().err == "fit_kernels: no/such.csv: No such file or directory\n"
