"""Megatron-LM's own scheduler and micro-batch calculator, step by step: rates and batches are the job's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Train
from tests.acceptance.support.generated_jobs import Generated
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.test_megatron_accepts import case_of
from tests.support.sample_plans import sample_plan, train_of

#: What the language's words mean: the part of the fall that is left after a share of it.
LEFT: dict[str, Callable[[float], float]] = {
    "linear": lambda share: 1 - share,
    "cosine": lambda share: (1 + math.cos(math.pi * share)) / 2,
    "sqrt": lambda share: 1 - math.sqrt(share),
    "exponential": lambda share: 2 * 0.5**share - 1,
}
LAYOUT = Layout(tp=2, dp_shard=4, zero=1, microbatches=8)
#: 8 micro-batches on 4 replicas; from a quarter of them on.
RAMP: dict[str, object] = {"ramp_from": 8, "ramp_tokens": 4096 * 700}
TRAININGS: dict[str, dict[str, object]] = {
    "cosine": {"steps": 200, "warmup": 20, "schedule": "cosine"},
    "default warmup": {"steps": 200},
    "no warmup": {"steps": 50, "warmup": 0, "schedule": "linear"},
    "linear": {"steps": 200, "warmup": 7, "schedule": "linear", "min_learning_rate": 0.0},
    "constant": {"steps": 100, "warmup": 10, "schedule": "constant"},
    "tokens": {"steps": None, "tokens": 4096 * 32 * 150 + 1, "schedule": "cosine"},
    "wsd": {"steps": 300, "warmup": 30, "schedule": "wsd"},
    **{
        f"wsd {style}": {
            "steps": 300,
            "warmup": 30,
            "schedule": "wsd",
            "decay_steps": 100,
            "decay_style": style,
        }
        for style in LEFT
    },
    "ramp": {"steps": 200, "warmup": 20, **RAMP},
    "ramp by tokens": {"steps": None, "tokens": 4096 * 3000, "schedule": "linear", **RAMP},
    "ramp and wsd": {"steps": 200, "warmup": 30, "schedule": "wsd", "decay_steps": 40, **RAMP},
    "ramp past the end": {"steps": 20, "warmup": 2, **RAMP},
}


def rate(train: Train, seen: float, warmup: float, total: float, decay: float) -> float:
    """The rate where so much of `total` is behind, all counted alike."""
    if seen < warmup:
        return train.learning_rate * seen / warmup
    if train.schedule == "constant":
        return train.learning_rate
    if train.schedule == "wsd":
        left = LEFT[train.decay_style](max(0.0, (seen - (total - decay)) / decay))
    else:
        left = LEFT[train.schedule]((seen - warmup) / (total - warmup))
    return train.min_learning_rate + (train.learning_rate - train.min_learning_rate) * left


def batches(train: Train) -> list[int]:
    """The batch of every step, found by walking: it grows when a threshold's sequences are trained."""
    if train.ramp_from is None or train.ramp_tokens is None:
        assert train.steps or train.tokens
        return [train.global_batch] * (
            train.steps or math.ceil((train.tokens or 0) / train.global_batch / train.seq_len)
        )
    rises = train.global_batch // train.ramp_from - 1
    sizes: list[int] = []
    while (
        len(sizes) < train.steps
        if train.steps
        else sum(sizes) * train.seq_len < (train.tokens or 0)
    ):
        risen = sum(sizes) >= train.ramp_tokens // train.seq_len
        passed = sum(sizes) * rises / (train.ramp_tokens // train.seq_len)
        sizes.append(train.ramp_from * (1 + (rises if risen else math.floor(passed + 1e-9))))
    return sizes


def trained(settings: dict[str, object]) -> Plan:
    train = train_of(**{"global_batch": 32, **settings})
    return sample_plan("megatron", Options(), layout=LAYOUT, train=train)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Plan, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("schedules")
    plans = {name: trained(train) for name, train in TRAININGS.items()}
    cases = []
    for name, plan in plans.items():
        job = Generated(name.replace(" ", "_"), "", plan, BACKEND.emit(plan), ())
        cases.append({**case_of(job, folder, build=False), "walk": True})
    found = probe("megatron", "megatron_probe", cases, folder)
    return {name: (plan, answer) for (name, plan), answer in zip(plans.items(), found, strict=True)}


@pytest.mark.parametrize("name", TRAININGS)
def test_batches(name: str, answers: dict[str, tuple[Plan, dict[str, Any]]]) -> None:
    plan, answer = answers[name]
    assert answer["stage"] == "accepted", answer
    assert answer["batches"] == batches(plan.job.train)
    assert len(answer["batches"]) == plan.job.train.total_steps


@pytest.mark.parametrize("name", TRAININGS)
def test_rates(name: str, answers: dict[str, tuple[Plan, dict[str, Any]]]) -> None:
    """Steps count alike; a ramp counts sequences. Megatron-LM's first step has the rate of 0 steps behind."""
    plan, answer = answers[name]
    train, sizes = plan.job.train, batches(plan.job.train)
    behind = [sum(sizes[:step]) for step in range(len(sizes) + 1)]
    end, warm, falling = len(sizes), train.warmup_steps, train.wsd_steps
    spans = (behind[warm], behind[end], behind[end] - behind[end - falling])
    wanted = [rate(train, seen, *spans) for seen in behind[:-1]]
    assert answer["rates"] == pytest.approx(wanted, rel=1e-12, abs=1e-18)
    assert max(wanted) == pytest.approx(train.learning_rate)
