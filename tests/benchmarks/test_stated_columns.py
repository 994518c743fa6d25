"""Columns of measured runs that state one fact each: experts' tp, dispatchers, fused losses, moments."""

from __future__ import annotations

import pytest

from benchmarks.accuracy.rows.csv_rows import Unusable
from benchmarks.accuracy.setups.prediction import predict
from benchmarks.accuracy.setups.setup import setup_of
from tests.support.measured_rows import row

MOE = {
    "model": "Mixtral-8x7B",
    "experts": "8",
    "topk": "2",
    "moe_ffn_hidden": "14336",
    "gated_mlp": "1",
}


def test_experts_tp_is_what_a_row_states_or_its_frameworks_habit() -> None:
    new = {**MOE, "framework_version": "2025", "ep": "2"}
    assert setup_of(row(**new)).layout["etp"] == 4
    assert setup_of(row(**new, etp="1")).layout["etp"] == 1
    with pytest.raises(Unusable, match="etp"):
        setup_of(row(**{**new, "ep": "8"}, etp="32"))


@pytest.mark.parametrize(
    ("column", "word", "trait", "value"),
    [
        ("dispatcher", "deepep", "dispatch", "tokens"),
        ("dispatcher", "alltoall", "dispatch", "copies"),
        ("ep_overlap", "1", "expert_exchange", True),
        ("fused_ce", "te", "loss_bytes", 24.0),
        ("fused_ce", "linear", "logit_bytes", 0.0),
    ],
)
def test_a_column_sets_a_trait(column: str, word: str, trait: str, value: object) -> None:
    found = setup_of(row(**MOE, **{column: word})).case.traits.by_name()
    assert found[trait] == value
    with pytest.raises(Unusable, match=column):
        setup_of(row(**MOE, **{column: "7"}))


def test_moments_in_16_bits_take_half_the_place() -> None:
    """With bf16 weights Megatron-LM's optimizer keeps the lower half of its main ones alone."""

    def bytes_of(**change: str) -> float:
        return setup_of(row(zero_stage="1", **change)).case.state(1).optimizer

    plain = bytes_of(precision="bf16", framework_version="2025")
    assert bytes_of(precision="bf16", framework_version="2025", moment_dtype="bf16") == plain - 6
    assert bytes_of(precision="fp16", framework_version="2025", moment_dtype="bf16") == plain - 4
    with pytest.raises(Unusable, match="moment_dtype"):
        bytes_of(moment_dtype="fp8")


MOMENTS = {"zero_stage": "1", "precision": "bf16", "moment_dtype": "bf16"}


@pytest.mark.parametrize(
    ("stated", "copies"),
    [
        ({"te_version": "2.11"}, 8.0),
        ({"te_version": "v2.14"}, 0.0),
        ({"framework_version": "2026-01"}, 8.0),
        ({"framework_version": "2026-05"}, 0.0),
        ({"framework_version": "0.19.2"}, 0.0),
        ({"te_version": "2.11", "moment_dtype": "fp32", "precision_aware": "1"}, 0.0),
    ],
)
def test_moments_are_copied_before_their_kernel_reads_them(
    stated: dict[str, str], copies: float
) -> None:
    assert setup_of(row(**{**MOMENTS, "grad_dtype": "bf16", **stated})).case.state(1).step == copies
    with pytest.raises(Unusable, match="te_version"):
        setup_of(row(**MOMENTS, te_version="new"))


def test_a_precision_aware_optimizer_keeps_lower_halves() -> None:
    plain, aware = (
        setup_of(row(zero_stage="1", precision="bf16", precision_aware=word))
        .case.state(1)
        .optimizer
        for word in ("0", "1")
    )
    assert plain - aware == 2.0


def test_moments_of_pytorch_are_kept_as_the_weights_are() -> None:
    """AdamW of PyTorch has moments in 16 bits where its parameters are: nothing is kept in fp32."""
    stated = {"framework": "transformers", "precision": "bf16", "zero_stage": "0"}
    found = setup_of(row(**stated, moment_dtype="bf16")).case.state(0)
    assert (found.weights, found.gradients, found.optimizer) == (2.0, 2.0, 4.0)


def test_a_loss_in_chunks_holds_no_logits_and_no_gradient_of_them() -> None:
    """Four times the words add the states of their embeddings, and logits where the loss holds them."""
    words = 204800 - 51200

    def added(fused_ce: str) -> float:
        few, many = (
            predict(setup_of(row(tp="1", dp="128", vocab=vocab, fused_ce=fused_ce))).bytes
            for vocab in ("51200", "204800")
        )
        return many - few

    assert added("native") - added("linear") > 5 * 16 * 2048 * words
    assert added("linear") < (18 + 3) * 4096 * words
