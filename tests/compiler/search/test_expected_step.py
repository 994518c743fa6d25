"""What layouts that ran tell of others."""

from __future__ import annotations

import numpy as np
import pytest

from parc.compiler.search.expected_step import COMMON, DOUBLINGS, LEFT_OPEN, excess, likeness


def columns(*layouts: dict[str, int]) -> dict[str, np.ndarray]:
    known = {**dict.fromkeys(DOUBLINGS, 1), "recompute": 0}
    return {name: np.array([{**known, **each}[name] for each in layouts]) for name in known}


def test_likeness_falls_by_every_variable() -> None:
    one, others = columns({"tp": 4, "gpus": 64}), [{"tp": 8}, {"gpus": 128}, {"recompute": 1}]
    found = likeness(
        one, columns({"tp": 4, "gpus": 64}, *({"tp": 4, "gpus": 64} | each for each in others))
    )
    assert found[0] == pytest.approx(np.exp([0.0, -1.0, -0.5, -1.0]))


def test_nothing_is_said_far_from_all_runs() -> None:
    ran, far = columns({"tp": 1}), columns({"tp": 8, "pp": 16, "gpus": 1024, "recompute": 1})
    assert abs(excess(ran, np.array([0.1]), far)[0]) < 1e-3


def test_two_runs_that_agree_say_more_than_one() -> None:
    here = columns({"tp": 2})
    one = excess(here, np.array([0.05]), here)[0]
    two = excess(columns({"tp": 2}, {"tp": 2, "micro_batch": 2}), np.array([0.05, 0.05]), here)[0]
    assert 0 < one < two < 0.05


def test_a_run_that_is_far_off_counts_little() -> None:
    """One that ran at half the speed for a reason of its own moves no other by a tenth."""
    here = columns({"tp": 2})
    assert 0 < excess(here, np.array([np.log(2.0)]), here)[0] < 0.1


def test_ratios_of_the_assumed_spread_are_met_by_the_best_linear_guess() -> None:
    """Of ratios drawn from what is assumed the guess leaves less than the prior, and is not biased."""
    dice = np.random.RandomState(0)
    degrees = [{"tp": 2 ** int(a), "pp": 2 ** int(b)} for a, b in dice.randint(0, 4, (40, 2))]
    layouts = columns(*degrees)
    shared = COMMON * LEFT_OPEN**2 * likeness(layouts, layouts)
    before, after = [], []
    for _ in range(200):
        common = dice.multivariate_normal(np.zeros(40), shared)
        ratios = common + dice.normal(0, LEFT_OPEN * np.sqrt(1 - COMMON), 40)
        ran = {name: column[:20] for name, column in layouts.items()}
        asked = {name: column[20:] for name, column in layouts.items()}
        after.append(excess(ran, ratios[:20], asked) - common[20:])
        before.append(common[20:])
    assert np.std(after) < 0.75 * np.std(before) and abs(np.mean(after)) < 0.01
