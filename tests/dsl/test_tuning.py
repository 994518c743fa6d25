"""`tune` and the settings of adapters in `train`."""

from __future__ import annotations

import pytest

from tests.support.language_jobs import TRAIN, codes, job


def train(settings: str) -> str:
    return TRAIN.replace("{", f"{{ {settings};", 1)


def test_adapters_are_settings_of_train() -> None:
    made = job(
        train=train('weights = "a"; tune = lora; adapter_rank = 64; adapter_targets = attention')
    )
    adapters = made.train.adapters
    assert adapters is not None
    assert (adapters.rank, adapters.alpha, adapters.targets, adapters.dropout) == (
        64,
        32,
        "attention",
        0,
    )


@pytest.mark.parametrize(("tune", "rate"), [("full", 1e-5), ("lora", 2e-4), ("qlora", 2e-4)])
def test_the_rate_follows_from_what_is_tuned(tune: str, rate: float) -> None:
    made = job(train=train(f'weights = "a"; tune = {tune}')).train
    assert made.learning_rate == rate
    assert made.min_learning_rate == pytest.approx(min(3e-5, rate / 10) if rate <= 3e-5 else 3e-5)
    assert (
        job(train=train(f'weights = "a"; tune = {tune}; learning_rate = 1e-3')).train.learning_rate
        == 1e-3
    )


def test_all_weights_are_trained_unless_said() -> None:
    assert job().train.tune is None and job().train.adapters is None
    assert job(train=train('weights = "a"; tune = full')).train.adapters is None


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("tune = lora", ["PAR072"]),
        ("tune = full", ["PAR072"]),
        ('weights = "a"; adapter_rank = 8', ["PAR072"]),
        ('weights = "a"; tune = full; adapter_alpha = 8', ["PAR072"]),
        ('weights = "a"; tune = lora; adapter_rank = 0', ["PAR018"]),
        ('weights = "a"; tune = lora; adapter_dropout = 1', ["PAR018"]),
        ('weights = "a"; tune = lora; adapter_targets = router', ["PAR022"]),
        ('weights = "a"; tune = prefix', ["PAR022"]),
        ('weights = "a"; tune = lora; lora_rank = 8', ["PAR055"]),
    ],
)
def test_what_disagrees_is_told(settings: str, found: list[str]) -> None:
    assert codes(job, train=train(settings)) == found
