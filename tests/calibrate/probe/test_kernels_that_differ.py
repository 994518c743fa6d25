"""Kernels that are timed, fail or are priced in a way of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from parc.calibrate.probe.prices import predicted_seconds
from parc.calibrate.probe.program.cases import cases
from parc.calibrate.probe.program.clock import timed
from parc.calibrate.probe.program.kernels import Kernels
from parc.calibrate.probe.rows import Attention
from parc.dsl import std_cluster


def attention(direction: Literal["forward", "backward", "both"]) -> Attention:
    return Attention(
        kind="attention",
        kernel="transformer_engine:te",
        direction=direction,
        batch=1,
        heads=32,
        seq_len=8192,
        head_dim=128,
    )


def test_transformer_engine_is_timed_with_both_passes_and_priced_so() -> None:
    """Modules of it free what they saved in the backward pass, so that a second one would have nothing."""
    kernels = ["torch:fa2", "transformer_engine:te"]
    directions = {
        (case["kernel"], case["direction"])
        for case in cases("cuda", ["bf16"], kernels, 1, 1)
        if case["kind"] == "attention"
    }
    assert directions == {
        ("torch:fa2", "forward"),
        ("torch:fa2", "backward"),
        ("transformer_engine:te", "forward"),
        ("transformer_engine:te", "both"),
    }
    cluster = std_cluster("dgx_h100")
    apart = [
        predicted_seconds(attention("forward"), cluster),
        predicted_seconds(attention("backward"), cluster),
    ]
    assert predicted_seconds(attention("both"), cluster) == pytest.approx(sum(apart))


def kernels(ranks: SimpleNamespace, run_of: Callable[[dict[str, Any]], None]) -> Kernels:
    """What the clock asks of kernels."""
    return cast("Kernels", SimpleNamespace(ranks=ranks, run_of=run_of))


@pytest.mark.parametrize("error", [AssertionError("head_dim"), AttributeError("x"), Exception("y")])
def test_a_library_that_fails_in_its_own_way_fails_one_case(error: Exception) -> None:
    def run_of(case: dict[str, Any]) -> None:
        raise error

    ranks = SimpleNamespace(device="cpu", agree=lambda value: [value], wait=lambda: None)
    found = timed({"kind": "attention"}, kernels(ranks, run_of))
    assert found["failed"] == f"rank 0: {error}"


@pytest.mark.parametrize("words", ["CUDA error: an illegal memory access", "NCCL error in: x"])
def test_a_gpu_that_fails_ends_the_probe(words: str) -> None:
    def run_of(case: dict[str, Any]) -> None:
        raise RuntimeError(words)

    ranks = SimpleNamespace(device="cuda", agree=lambda value: [value], wait=lambda: None)
    with pytest.raises(RuntimeError, match=words[:10]):
        timed({"kind": "product"}, kernels(ranks, run_of))
