"""A target on which the job hardly trains is told, whether or not another one is better."""

from __future__ import annotations

from functools import cache

from parc.api import Planned, plan_targets
from parc.codes import SLOW_TARGET
from parc.dsl.diagnostics import Diagnostic
from parc.slow_targets import slow_targets
from tests.support.solver_and_sweep import example


@cache
def planned(name: str) -> Planned:
    return plan_targets(example(name))


def said(found: Planned) -> list[Diagnostic]:
    return [each for each in found.diagnostics() if each.code == SLOW_TARGET]


def test_deepspeed_on_16384_gpus_is_told_beside_a_better_target() -> None:
    (slow,) = said(planned("llama3_405b"))
    assert slow.severity == "warning" and slow.span is not None
    assert slow.message.startswith("a step of deepspeed's plan, ")
    assert "times as long as on megatron" in slow.message and "MFU" in slow.message
    assert slow.help and "--target megatron" in slow.help


def test_it_is_told_alone_too() -> None:
    alone = plan_targets(example("llama3_405b"), ["deepspeed"])
    (slow,) = said(alone)
    assert alone.plans[0].estimate.mfu < 0.1
    longest = max(alone.plans[0].estimate.time, key=alone.plans[0].estimate.time.__getitem__)
    assert f"of it {longest}" in slow.message and "parc explain" in (slow.help or "")


def test_targets_near_each_other_are_not() -> None:
    assert len(planned("llama3_70b").plans) == 3 and said(planned("llama3_70b")) == []


def test_plans_on_other_numbers_of_gpus_are_not_compared() -> None:
    best, *others = planned("llama3_70b").plans
    slow = others[-1].estimate.model_copy(
        update={"step_seconds": 3 * best.estimate.step_seconds, "mfu": 0.2}
    )
    slower = others[-1].model_copy(update={"estimate": slow})
    assert [each.code for _, each in slow_targets((best, slower))] == [SLOW_TARGET]
    fewer = slow.model_copy(update={"layout": slow.layout.model_copy(update={"dp_shard": 1})})
    assert list(slow_targets((best, slower.model_copy(update={"estimate": fewer})))) == []
