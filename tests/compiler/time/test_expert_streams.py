"""Kernels around grouped experts that move bytes only: clamps and padding, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.case import Case
from parc.compiler.plan import Layout
from parc.compiler.time import layers
from parc.dsl.model import Model
from tests.support import sample_plans
from tests.support.megatron_plans import MOE

TP, TOKENS, EP, ETP = (np.array([number]) for number in (1, 4096, 8, 1))
CLAMPED = MOE.model_copy(update={"glu_clamp": 7.0})
COPIES = 4096 * MOE.topk


def case_of(model: Model, precision: str = "bf16", **traits: Any) -> Case:
    plan = sample_plans.sample_plan(
        "megatron",
        Options(),
        model=model,
        train=sample_plans.train_of(global_batch=8, precision=precision),
        layout=Layout(dp_shard=8, zero=1),
        gpu=sample_plans.B200,
    )
    target = BACKEND.target
    return Case(plan.job, replace(target, traits=target.traits.replaced(**traits)))


def test_a_clamp_costs_bytes_of_the_experts_width() -> None:
    """Forward: two halves read and written, then both again into one tensor; 16 bits each."""
    plain, clamped = case_of(MOE), case_of(CLAMPED)
    width = COPIES * MOE.expert_width / plain.memory_rate
    forward = layers.moe_ffn(clamped, TP, TOKENS, EP, ETP)
    backward = layers.moe_ffn_backward(clamped, TP, TOKENS, EP, ETP)
    assert forward - layers.moe_ffn(plain, TP, TOKENS, EP, ETP) == pytest.approx(16 * width)
    assert backward - layers.moe_ffn_backward(plain, TP, TOKENS, EP, ETP) == pytest.approx(
        20 * width
    )


def test_a_product_that_clamps_moves_no_more() -> None:
    prices = [
        layers.moe_ffn(case_of(model, fused_experts=True), TP, TOKENS, EP, ETP)
        for model in (MOE, CLAMPED)
    ]
    assert prices[0] == prices[1]


@pytest.mark.parametrize(
    ("precision", "dispatch", "padded"),
    [("fp8", "copies", 8), ("fp8", "tokens", 0), ("bf16", "copies", 0)],
)
def test_copies_are_padded_for_quantized_products(
    precision: str, dispatch: str, padded: int
) -> None:
    plain = case_of(MOE, precision, dispatch=dispatch)
    told = case_of(MOE, precision, dispatch=dispatch, padded_copies=True)
    more = layers.moe_ffn(told, TP, TOKENS, EP, ETP) - layers.moe_ffn(plain, TP, TOKENS, EP, ETP)
    assert more == pytest.approx(padded * COPIES * MOE.hidden / plain.memory_rate)
