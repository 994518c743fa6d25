"""`parc smoke` trains Megatron-LM on CPUs through the emitted pretrain.sh, where MEGATRON_ROOT is set.

pretrain_gpt.py is in no package, only in Megatron-LM's repository. With a checkout of it:
`MEGATRON_ROOT=~/Megatron-LM make acceptance ARGS=--all`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.support.environments import TRAINING
from tests.acceptance.support.smoke_runs import Smokes, Wanted, check, check_recomputing

TARGET, NAME = "megatron", TRAINING
ROOT = os.environ.get("MEGATRON_ROOT")
pytestmark = pytest.mark.skipif(
    not ROOT, reason="MEGATRON_ROOT is not set, and pretrain_gpt.py is in no package"
)
DENSE = "model decoder from std.llama3_8b { layers = 4 }"
EXPERTS = "model experts from std.mixtral_8x7b { layers = 2 }"
LATENT = "model latent from std.deepseek_v3 { layers = 4; dense_layers = 1; mtp_layers = 0 }"
#: Sinks, windows in every other layer, biases, a clamped gate and YaRN.
SINKS = "model sinks from std.gpt_oss_20b { layers = 4 }"
CASES = {
    "zero_1": Wanted("zero == 1, tp == 1, pp == 1, cp == 1", 2, {"dp_shard": 2, "zero": 1}, DENSE),
    "offload": Wanted(
        "offload == optimizer, zero == 1, tp == 1, pp == 1, cp == 1",
        2,
        {"dp_shard": 2, "zero": 1, "offload": "none"},
        DENSE,
    ),
    "sgd": Wanted(
        "tp == 1, pp == 1, cp == 1",
        2,
        {"dp_replicate": 2, "zero": 0},
        "model decoder from std.llama3_8b { layers = 1; hidden = 2048; heads = 16 }",
        train="optimizer = sgd",
    ),
    "zero_2": Wanted("zero == 2, tp == 1, cp == 1", 2, {"dp_shard": 2, "zero": 2}, DENSE),
    "zero_3": Wanted("zero == 3, tp == 1, cp == 1", 2, {"dp_shard": 2, "zero": 3}, DENSE),
    "tensor_pipeline": Wanted("tp == 2, pp == 2, vpp == 1", 4, {"tp": 2, "pp": 2}, DENSE),
    "interleaved": Wanted(
        "tp == 1, pp == 2, vpp == 2, recompute == full", 2, {"pp": 2, "vpp": 2}, DENSE
    ),
    "uneven": Wanted(
        "tp == 1, pp == 2, recompute == selective",
        2,
        {"pp": 2},
        "model odd from std.llama3_8b { layers = 5; vocab = 50257 }",
    ),
    "context": Wanted("cp == 8, tp == 1, pp == 1", 2, {"cp": 2}, DENSE),
    "experts": Wanted("ep == 8, etp == 1, tp == 1", 2, {"ep": 2, "etp": 1}, EXPERTS, nodes=2),
    "experts_fine": Wanted(
        "ep == 8, etp == 1, tp == 1, recompute == fine",
        2,
        {"ep": 2, "recompute": "fine"},
        EXPERTS,
        nodes=2,
    ),
    "experts_tensor": Wanted(
        "ep == 2, etp == 2, tp == 2, pp == 1", 4, {"ep": 2, "etp": 2, "tp": 2}, EXPERTS, nodes=2
    ),
    "latent": Wanted(
        "tp == 2, pp == 2, recompute == fine",
        4,
        {"tp": 2, "pp": 2, "recompute": "fine"},
        LATENT,
        nodes=16,
    ),
    "sinks": Wanted("tp == 2, ep == 2, etp == 1, pp == 1", 2, {"tp": 2}, SINKS, nodes=2),
}


@pytest.mark.parametrize("case", CASES)
def test_layouts_train(case: str, smokes: Smokes, request: pytest.FixtureRequest) -> None:
    check(smokes[request.node.nodeid], CASES[case])


def test_recomputing_changes_no_loss(smokes: Smokes) -> None:
    layout = "tp == 2, pp == 1, cp == 1, micro_batch == 1"
    check_recomputing(smokes, TARGET, NAME, layout, DENSE)


def test_a_checkpoint_is_written(smokes: Smokes, tmp_path: Path) -> None:
    keep, steps = tmp_path / "kept", 4
    more = ("--keep", str(keep), "--steps", str(steps))
    run = smokes.begin("kept", TARGET, CASES["zero_1"], NAME, *more).result()
    assert run["good"], run["log"]
    checkpoints = keep / "megatron" / "work" / "checkpoints"
    assert (checkpoints / "latest_checkpointed_iteration.txt").read_text() == str(steps)
    written = {path.suffix for path in (checkpoints / f"iter_{steps:07d}").iterdir()}
    assert ".distcp" in written
