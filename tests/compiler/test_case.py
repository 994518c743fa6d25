"""Rates of a job on a target: under a power limit, and at the pace of a kernel of attention."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.pricing import quantities
from parc.compiler.time.attention_kernels import PACE, pace, runs_on
from parc.dsl import std_gpu
from tests.support.solver_and_sweep import job_of


def case(traits: dict[str, object] | None = None, **gpu: object) -> Case:
    job = job_of()
    part = std_gpu("h100_sxm").model_copy(update=gpu)
    cluster = job.cluster.model_copy(update={"gpu": part})
    target = BACKENDS["megatron"].target
    changed = replace(target, traits=target.traits.replaced(**(traits or {})))
    return Case(job.model_copy(update={"cluster": cluster}), changed)


def test_a_power_limit_takes_the_cube_root_of_what_it_leaves() -> None:
    whole, capped = case(), case(power_limit=350.0)
    for rate in ("linear_rate", "half_linear_rate", "attention_rate"):
        assert getattr(capped, rate) == pytest.approx(getattr(whole, rate) / 2 ** (1 / 3))
    assert capped.memory_rate == whole.memory_rate
    eight = np.array([8])
    assert quantities.gpu_watts(whole, eight) - quantities.gpu_watts(capped, eight) == 8 * 350


def test_a_limit_that_is_no_limit_changes_nothing() -> None:
    assert case(power_limit=700.0).linear_rate == case().linear_rate


@pytest.mark.parametrize("kernel", sorted(PACE))
def test_attention_goes_at_the_pace_of_its_kernel(kernel: str) -> None:
    assert runs_on(kernel, "sm90")
    named = case({"attention_kernel": kernel})
    assert named.attention_rate == pytest.approx(case().attention_rate * pace(kernel, "sm90"))
    assert 0 < pace(kernel, "sm90") <= 1


def test_a_kernel_has_no_pace_where_it_does_not_run() -> None:
    with pytest.raises(KeyError):
        pace("fa3", "sm80")


def test_the_pace_of_fp8_products_is_of_fp8_alone() -> None:
    slow = case({"fp8_pace": 0.5})
    assert slow.linear_rate == case().linear_rate
    job = slow.job.model_copy(update={"train": slow.train.model_copy(update={"precision": "fp8"})})
    eight_bits = Case(job, slow.target)
    assert eight_bits.linear_rate == pytest.approx(Case(job, case().target).linear_rate / 2)
