"""How sure a choice is: probabilities that add up, certainty where nothing contends, none for other goals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from parc.compiler import plan
from parc.compiler.plan import LARGE_REGRET, Doubt, Layout, Rival
from parc.compiler.pricing.mechanisms import NAMES, SPREADS, drawn_errors
from parc.compiler.search import doubt as doubting
from tests.support.solver_and_sweep import DENSE, TARGETS, answers, job_of, target_of

WAYS = ("tp", "pp", "cp", "ep")
#: A model of which several ways of splitting are about equally good.
WIDE = {**DENSE, "layers": 32, "hidden": 4096, "heads": 32, "ffn": 16384}


def doubt_of(goal: str, target: str = "megatron") -> Doubt | None:
    job = job_of(goal, target=target)
    return plan(job, target_of(job)).doubt


@pytest.mark.parametrize("target", TARGETS)
def test_probabilities_add_up(target: str) -> None:
    found = doubt_of("maximize mfu", target)
    assert found is not None
    assert 0.0 < found.chance <= found.chance_of_split <= 1.0 and found.regret > 0.0
    rivals = [each.chance for each in found.rivals]
    assert rivals == sorted(rivals, reverse=True) and min(rivals, default=1.0) >= doubting.LEAST
    assert found.chance_of_split + sum(rivals) <= 1.0 + 1e-9


@pytest.mark.parametrize("target", TARGETS)
def test_rivals_split_the_model_in_other_ways(target: str) -> None:
    job = job_of("maximize mfu", target=target)
    chosen = plan(job, target_of(job))
    assert chosen.doubt is not None
    layouts = [chosen.layout, *(each.layout for each in chosen.doubt.rivals)]
    splits = [tuple(getattr(layout, name) for name in WAYS) for layout in layouts]
    assert len(set(splits)) == len(splits)
    assert all(layout.gpus == chosen.layout.gpus for layout in layouts)


def test_a_rival_is_the_best_predicted_layout_of_its_kind() -> None:
    job = job_of("maximize mfu\nwithin = 0%", model=WIDE)
    found = plan(job, target_of(job))
    swept = answers(job).swept
    assert found.doubt is not None and found.doubt.rivals
    for rival in found.doubt.rivals:
        alike = swept.feasible.copy()
        for name in WAYS:
            alike &= swept.space.layouts[name] == getattr(rival.layout, name)
        best = swept.prices.step_ns[alike].min()
        assert (1 + rival.worse) * found.estimate.step_seconds == pytest.approx(best / 1e9)


def test_the_only_layout_is_the_best() -> None:
    every = "tp == 1; require pp == 1; require cp == 1; require zero == 1; require micro_batch == 1"
    only = f"require {every}; require dp_shard == 16; require recompute == none; require offload == none"
    found = doubt_of(only)
    assert found == Doubt(chance=1.0, chance_of_split=1.0, regret=0.0, contenders=1, rivals=())


def test_a_goal_that_does_not_follow_from_time_is_not_doubted() -> None:
    assert doubt_of("minimize memory") is None
    free = job_of("minimize cost", cluster={"nodes": 2})
    assert plan(free, target_of(free)).doubt is None


def test_the_same_job_is_doubted_alike_whichever_quantity_of_time_it_names() -> None:
    """On a fixed number of GPUs MFU, days and cost rank alike."""
    found = [
        doubt_of(f"{goal}\nwithin = 0%")
        for goal in ("maximize mfu", "minimize days", "minimize cost")
    ]
    for one, other in itertools.pairwise(found):
        assert one is not None and other is not None
        assert one.chance == other.chance and one.regret == pytest.approx(other.regret)


def test_larger_errors_leave_more_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = doubt_of("maximize mfu")
    monkeypatch.setattr("parc.compiler.pricing.mechanisms.SPREADS", 3 * SPREADS)
    more = doubt_of("maximize mfu")
    assert usual is not None and more is not None and len(SPREADS) == len(NAMES)
    assert more.regret > 1.5 * usual.regret and more.chance < usual.chance


def test_named_chances_are_those_of_the_draws() -> None:
    """Three layouts, the last never the best: two share the probability."""
    split, of_split = np.array([0, 1, 1]), np.array([0.4, 0.6])
    found = list(doubting._rivals(split, of_split, np.log([1.0, 1.1, 1.05])))
    assert [each[:2] for each in found] == [(2, 0.6)]
    assert found[0][2] == pytest.approx(0.05)


def test_the_spread_between_two_layouts_is_that_of_the_draws() -> None:
    """The first and the second share a mechanism, which cancels; the third has none of it."""
    found = np.zeros((len(NAMES), 3))
    found[3] = [0.2, 0.2, 0.0]
    own = np.array([0.02, 0.01, 0.02])
    true = drawn_errors(found, 20_000, own)
    drawn = np.std(true - true[:, :1], axis=0)
    assert doubting.spreads_between(found, own)[1:] == pytest.approx(drawn[1:], rel=0.03)
    assert doubting.spreads_between(found, own)[1] == pytest.approx(np.hypot(0.02, 0.01))


@pytest.mark.parametrize(
    ("regret", "chance", "settled"),
    [
        (LARGE_REGRET, 0.4, True),
        (LARGE_REGRET + 1e-6, 0.1, False),
        (0.01, 0.41, False),
    ],
)
def test_a_choice_is_settled_by_a_small_regret_and_the_most_probable_split(
    regret: float, chance: float, settled: bool
) -> None:
    rival = Rival(layout=Layout(), chance=chance, worse=0.01, spread=0.1)
    found = Doubt(chance=0.1, chance_of_split=0.4, regret=regret, contenders=5, rivals=(rival,))
    assert found.settled == settled
    assert found.model_copy(update={"rivals": ()}).settled == (regret <= LARGE_REGRET)
