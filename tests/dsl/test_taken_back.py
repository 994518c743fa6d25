"""Settings that an override takes back, and those that a small job need not give."""

from __future__ import annotations

import pytest

from parc.dsl import loads
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job
from tests.support.language_jobs import TARGETS

REST = "train { seq_len = 1024; global_batch = 64; tokens = 1G%s }\ntarget alpha { }\n"
POD = "cluster from std.dgx_h100 { }"


def job(
    model: str = "model from std.llama3_2_3b { }",
    cluster: str = POD,
    train: str = "",
    changes: tuple[str, ...] = (),
) -> Job:
    return loads(f"{model}\n{cluster}\n{REST % train}", overrides=changes, targets=TARGETS)


def complaints(
    model: str = "model from std.llama3_2_3b { }", cluster: str = POD, train: str = ""
) -> list[tuple[str, str]]:
    with pytest.raises(JobError) as caught:
        job(model, cluster, train)
    return [(each.code, each.message) for each in caught.value.diagnostics]


def test_scaled_positions_are_taken_back_whole() -> None:
    taken = job("model from std.llama3_2_3b { rope_scaling = none }").model
    changed = job(changes=("model.rope_scaling=none",)).model
    assert (taken.rope_scaling, taken.rope_factor, taken.rope_original_positions) == (
        "none",
        1,
        None,
    )
    assert changed == taken
    linear = job("model from std.llama3_2_3b { rope_scaling = linear }").model
    assert (linear.rope_factor, linear.rope_original_positions) == (32, None)


def test_what_a_block_gives_itself_is_not_taken_back() -> None:
    found = complaints(model="model from std.llama3_2_3b { rope_scaling = none; rope_factor = 8 }")
    assert [code for code, _ in found] == ["PAR050"] and "`rope_factor`" in found[0][1]


def test_one_node_needs_no_network() -> None:
    alone = job(cluster="cluster { gpu = std.rtx4090; nodes = 1; gpus_per_node = 2 }").cluster
    assert alone.network == alone.gpu.pcie
    for cluster in (
        "cluster { gpu = std.rtx4090; nodes = 2; gpus_per_node = 2 }",
        "cluster { gpu = std.rtx4090; nodes = 1..2; gpus_per_node = 2 }",
        "cluster { gpu = std.rtx4090; nodes = 1; gpus_per_node = 4; nvlink_domain = 2 }",
    ):
        assert ("PAR017", "`cluster` lacks `network`") in complaints(cluster=cluster)


@pytest.mark.parametrize(
    ("given", "lowest"),
    [("", 3e-5), ("; learning_rate = 1e-4", 3e-5), ("; learning_rate = 1e-5", 1e-6),
     ("; learning_rate = 1e-5; min_learning_rate = 0", 0.0)],
)  # fmt: skip
def test_a_low_rate_still_falls(given: str, lowest: float) -> None:
    assert job(train=given).train.min_learning_rate == pytest.approx(lowest)


def test_a_misspelt_setting_is_not_missing_as_well() -> None:
    found = complaints(train="; seq_lenn = 1")
    assert found == [("PAR011", "unknown setting `seq_lenn` of `train`")]
    with pytest.raises(JobError) as caught:
        loads(f"model from std.llama3_8b {{ }}\n{POD}\ntrain {{ seq_lenn = 8; global_batch = 8 }}\n"
              "target alpha { }", targets=TARGETS)  # fmt: skip
    assert [each.code for each in caught.value.diagnostics] == ["PAR011"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # a setting without a cure may be one of those that are missing
        ("model { layers = 2; hidden_dims = 64 }", ["PAR011", "PAR017"]),
        ("model { layers = 2; mamba_heads = 64 }", ["PAR195", "PAR017"]),
        ("train { seq_len = 8; global_batch = 8; num_train_epochs = 3 }", ["PAR011", "PAR036"]),
        # one that a cure brings from another block is not missing
        (
            "train { global_batch = 8; steps = 10 }\nlaunch slurm { time = 1 h; seq_len = 8 }",
            ["PAR011"],
        ),
    ],
)
def test_what_is_not_known_is_told_before_what_is_missing(text: str, said: list[str]) -> None:
    others = {
        "model": "model from std.llama3_8b { }",
        "train": "train { seq_len = 8; global_batch = 8; steps = 10 }",
    }
    blocks = [text, *(each for kind, each in others.items() if kind != text.split()[0]), POD]
    with pytest.raises(JobError) as caught:
        loads("\n".join([*blocks, "target alpha { }"]), targets=TARGETS)
    assert [each.code for each in caught.value.diagnostics] == said
