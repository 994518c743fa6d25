"""What runs tell of made-up clusters: priors hold where runs say nothing, the band says what is unknown."""

from __future__ import annotations

import numpy as np
import pytest

from parc.calibrate.parameters import COMMON_STD, PARAMETERS, Floats, prior_std
from parc.calibrate.posterior import LEFT_OPEN, Observation, Posterior, posterior

SIZE = len(PARAMETERS)
FREE = (np.full(SIZE, -5.0), np.full(SIZE, 5.0))
NAMES = [each.name for each in PARAMETERS]


def run(measured: float, clock: float = 0.0, **shares: float) -> Observation:
    """A run of one second by prediction, of which each parameter decides a share."""
    weights = np.array([shares.get(name, 0.0) for name in NAMES])

    def log_seconds(errors: Floats) -> Floats:
        return np.asarray(errors @ weights)

    return Observation(log_seconds, measured, clock)


def error(found: Posterior, name: str) -> float:
    return float(found.errors[NAMES.index(name)])


def left(found: Posterior, name: str) -> float:
    number = NAMES.index(name)
    return float(found.std[number] / prior_std()[number])


def site(dice: np.random.RandomState, count: int, noise: float, **true: float) -> list[Observation]:
    """Runs with random shares of products, attention and network on a cluster with these errors."""
    runs = []
    for shares in dice.dirichlet([2.0, 1.0, 1.0], count):
        parts = dict(zip(("products", "attention", "network"), map(float, shares), strict=True))
        slow = sum(share * true.get(name, 0.0) for name, share in parts.items())
        runs.append(run(float(np.exp(slow + noise * dice.standard_normal())), **parts))
    return runs


def test_errors_of_a_cluster_come_back() -> None:
    found = posterior(site(np.random.RandomState(0), 40, 0.01, products=0.2, network=0.8), FREE)
    assert error(found, "products") == pytest.approx(0.2, abs=0.05)
    assert error(found, "network") == pytest.approx(0.8, abs=0.1)
    assert error(found, "attention") == pytest.approx(0.0, abs=0.1)
    assert found.left_open < LEFT_OPEN


def test_without_runs_the_prior_stands() -> None:
    found = posterior([], FREE)
    assert not found.errors.any() and found.std == pytest.approx(prior_std())


def test_what_no_run_depends_on_moves_with_all_alone() -> None:
    """A GPU that is slow in bf16 is likely to be so in fp8, by what all times have in common."""
    found = posterior([run(1.2, products=1.0) for _ in range(6)], FREE)
    common = COMMON_STD**2 / (COMMON_STD**2 + PARAMETERS[0].prior_std ** 2)
    assert error(found, "fp8 products") == pytest.approx(
        common * error(found, "products"), rel=1e-3
    )
    assert left(found, "products") < 0.3 and left(found, "link") > 0.95


def test_one_run_moves_each_by_its_share_and_its_prior() -> None:
    found = posterior([run(1.3, products=0.5, network=0.5)], FREE)
    assert 0 < error(found, "products") < error(found, "network") < 2 * np.log(1.3)
    together = 0.5 * error(found, "products") + 0.5 * error(found, "network")
    assert 0.1 < together < np.log(1.3)


def test_contradictions_leave_the_prior_and_widen_the_band() -> None:
    fast, slow = run(1.0, products=1.0), run(1.6, products=1.0)
    agreed, apart = posterior([slow, slow], FREE), posterior([fast, slow], FREE)
    assert abs(error(apart, "products")) < error(agreed, "products")
    assert apart.spread > 1.5 * agreed.spread and apart.left_open > LEFT_OPEN


def test_one_run_among_many_that_fits_no_cluster_is_outvoted() -> None:
    runs = site(np.random.RandomState(1), 10, 0.01, products=0.1)
    found = posterior([*runs, run(4.0, products=1.0)], FREE)
    without = posterior(runs, FREE)
    assert found.weights[-1] < 0.2 < found.weights[:-1].min()
    assert error(found, "products") == pytest.approx(error(without, "products"), abs=0.06)


def test_a_run_of_a_noisy_clock_counts_less() -> None:
    quiet, noisy = (posterior([run(1.3, clock, products=1.0)], FREE) for clock in (0.0, 0.3))
    assert error(noisy, "products") < error(quiet, "products") / 2


def test_a_share_of_overlap_is_never_negative() -> None:
    low = np.where(np.array(NAMES) == "overlap", 0.0, -5.0)
    found = posterior([run(0.5, overlap=0.5), run(0.5, overlap=0.6)], (low, FREE[1]))
    assert error(found, "overlap") == 0.0


def test_the_band_holds_four_of_five_runs_of_clusters_as_usual_as_assumed() -> None:
    """Clusters and runs drawn from what is assumed; runs other than those that were calibrated on."""
    dice, inside = np.random.RandomState(2), []
    for _ in range(60):
        true = dict(zip(NAMES, prior_std() * dice.standard_normal(SIZE), strict=True))
        runs = site(dice, 26, LEFT_OPEN, **true)
        found = posterior(runs[:6], FREE)
        for other in runs[6:]:
            off = np.log(other.measured) - other.log_seconds(found.errors[None])[0]
            inside.append(abs(off) < 1.2816 * found.spread)
    assert 0.75 < np.mean(inside) < 0.9
