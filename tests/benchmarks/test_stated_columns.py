"""Columns of measured runs that state one fact each: experts' tp, dispatchers, fused losses, moments."""

from __future__ import annotations

import pytest

from benchmarks.accuracy.rows.csv_rows import Unusable
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
