"""torchtitan 0.2.2 trains, on gloo, what parc emits: every way of dividing a model, and them together."""

from __future__ import annotations

import pytest

from tests.acceptance.support.smoke_runs import EXPERTS, Smokes, Wanted, check, check_recomputing

LATENT = """\
model latent {
  layers = 4; hidden = 2048; heads = 16; ffn = 8192; vocab = 32000
  q_lora_rank = 768; kv_lora_rank = 512; qk_nope_head_dim = 128; qk_rope_head_dim = 64; v_head_dim = 128
}"""
SINKS = "model sinks from std.gpt_oss_20b { layers = 4; aux_loss = 0; router_bias_rate = 0.001 }"
ROUTED = """\
model routed from std.deepseek_v3 {
  layers = 4; dense_layers = 1; experts = 16; topk = 4; mtp_layers = 0; aux_loss = 0
  hidden = 2048; heads = 16
}"""
SCALED = "model scaled from std.llama3_2_1b { layers = 4 }"
TARGET, NAME = "torchtitan", "torchtitan-0.2.2"
CASES = {
    "fsdp": Wanted("dp_shard == 8, zero == 3", 2, {"dp_shard": 2, "zero": 3, "recompute": "none"}),
    "fsdp_kept": Wanted("dp_shard == 8, zero == 2", 2, {"dp_shard": 2, "zero": 2}),
    "hsdp": Wanted(
        "dp_replicate == 2, dp_shard == 4, zero == 3", 4, {"dp_replicate": 2, "dp_shard": 2}
    ),
    "tp": Wanted("tp == 4, dp_shard == 2", 4, {"tp": 2, "dp_shard": 2, "pp": 1}),
    "pp": Wanted("pp == 2, vpp == 1, dp_shard == 4", 4, {"pp": 2, "vpp": 1, "dp_shard": 2}),
    "interleaved": Wanted(
        "pp == 2, vpp == 2, dp_shard == 4", 4, {"pp": 2, "vpp": 2, "dp_shard": 2}
    ),
    "uneven": Wanted(
        "pp == 2, vpp == 2, dp_shard == 4",
        4,
        {"pp": 2, "vpp": 2},
        "model odd from std.llama3_8b { layers = 11; vocab = 50257 }",
    ),
    "three_ways": Wanted("tp == 2, pp == 2, dp_shard == 2", 8, {"tp": 2, "pp": 2, "dp_shard": 2}),
    "experts": Wanted(
        "ep == 8, dp_shard == 8, zero == 3", 2, {"ep": 2, "dp_shard": 2}, EXPERTS, nodes=2
    ),
    "latent": Wanted("dp_shard == 8, zero == 3", 2, {"dp_shard": 2, "zero": 3}, LATENT),
    "sinks": Wanted("ep == 2, dp_shard == 4, tp == 2", 4, {"ep": 2, "tp": 2, "dp_shard": 2}, SINKS),
    "groups_and_yarn": Wanted(
        "ep == 8, dp_shard == 8, zero == 3", 2, {"ep": 2, "dp_shard": 2}, ROUTED
    ),
    "scaled_and_tied": Wanted("dp_replicate == 8", 2, {"dp_replicate": 2}, SCALED),
    "experts_alone": Wanted(
        "ep == 1, tp == 1, zero == 3", 2, {"ep": 1, "dp_shard": 2}, EXPERTS, nodes=2
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_layouts_train(case: str, smokes: Smokes, request: pytest.FixtureRequest) -> None:
    check(smokes[request.node.nodeid], CASES[case])


def test_recomputing_changes_no_loss(smokes: Smokes) -> None:
    check_recomputing(smokes, TARGET, NAME, "dp_shard == 8, zero == 3, micro_batch == 1")
