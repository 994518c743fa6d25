"""What runs tell of made-up clusters: priors hold where runs say nothing, the band says what is unknown."""

from __future__ import annotations

import numpy as np
import pytest

from parc.calibrate import posterior as fitting
from parc.calibrate.parameters import COMMON_STD, PARAMETERS, Floats, prior_std
from parc.calibrate.posterior import KINDS, Observation, Posterior, posterior
from parc.compiler.search.expected_step import LEFT_OPEN

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
    return float(found.std[number] / found.usual[number])


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
    """Half as wide a cluster as any, half one like those that are known."""
    found = posterior([], FREE)
    share = np.sqrt(np.mean(np.square(KINDS)))
    assert not found.errors.any() and found.std == pytest.approx(share * prior_std())
    assert found.usual == pytest.approx(found.std)


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
    usual, agreed, apart = (
        posterior(each, FREE) for each in ([fast] * 2, [slow] * 2, [fast, slow])
    )
    assert abs(error(apart, "products")) < error(agreed, "products") / 4
    assert apart.spread > max(1.5 * usual.spread, agreed.spread) and apart.left_open > LEFT_OPEN


def test_one_run_among_many_that_fits_no_cluster_is_outvoted() -> None:
    runs = site(np.random.RandomState(1), 10, 0.01, products=0.1)
    found = posterior([*runs, run(4.0, products=1.0)], FREE)
    without = posterior(runs, FREE)
    assert found.weights[-1] < 0.2 < found.weights[:-1].min()
    assert error(found, "products") == pytest.approx(error(without, "products"), abs=0.06)


@pytest.mark.parametrize("seed", range(20))
def test_the_fit_has_settled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of which some contradict the others: more steps, or finer ones, find the same."""
    dice = np.random.RandomState(seed)
    runs = site(dice, int(dice.randint(2, 8)), 0.02, products=float(dice.normal(0, 0.3)))
    runs += [run(float(each), link=0.3, memory=0.7) for each in dice.uniform(0.6, 1.6, 3)]
    found = posterior(runs, FREE)
    monkeypatch.setattr(fitting, "ITERATIONS", 500)
    monkeypatch.setattr(fitting, "SETTLED", 1e-6)
    finer = posterior(runs, FREE)
    assert found.errors == pytest.approx(finer.errors, abs=0.005)
    assert found.spread == pytest.approx(finer.spread, rel=0.01)


def test_a_cluster_like_those_that_are_known_moves_less_than_another() -> None:
    """Six runs of a hundredth more or less are noise; of a cluster that is half as fast they are not."""
    runs = [run(each, products=1.0) for each in (1.02, 1.03, 1.02)]
    known, other = posterior(runs, FREE), posterior([*runs, *[run(2.0, network=1.0)] * 3], FREE)
    assert (known.usual < 0.7 * prior_std()).all() and (other.usual > 0.9 * prior_std()).all()
    assert 0 < error(known, "products") < error(other, "products") < 0.03


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
