"""torchtitan 0.3.0 trains, on gloo, the Python configurations that parc emits, with CP and EP too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.acceptance.support.smoke_runs import EXPERTS, Smokes, Wanted, check

TARGET, NAME = "torchtitan", "torchtitan-0.3.0"
VERSION = 'version = "0.3"'
TIED = "model tied from std.llama3_8b { layers = 4; tied = true; qk_norm = true }"
BALANCED = "aux_loss = 0; router_bias_rate = 0.001"
SHARED = f"model shared from std.mixtral_8x7b {{ layers = 4; shared_experts = 1; {BALANCED} }}"
FLAT = "model flat from std.llama3_8b { layers = 2 }"
LAYOUTS = {
    "fsdp": Wanted(
        "dp_shard == 8, zero == 3, recompute == selective",
        2,
        {"dp_shard": 2, "zero": 3, "recompute": "selective"},
    ),
    "hsdp": Wanted(
        "dp_replicate == 2, dp_shard == 4, zero == 3, recompute == full",
        4,
        {"dp_replicate": 2, "dp_shard": 2, "recompute": "full"},
    ),
    "tp": Wanted("tp == 4, dp_shard == 2", 4, {"tp": 2, "dp_shard": 2}),
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
    "cp": Wanted("cp == 8", 2, {"cp": 2, "tp": 1}, FLAT),
    "cp_and_tp": Wanted("cp == 4, tp == 2", 4, {"cp": 2, "tp": 2}, FLAT),
    "tied": Wanted("dp_shard == 8, zero == 3", 2, {"dp_shard": 2}, TIED),
    "experts": Wanted(
        "ep == 8, dp_shard == 8, zero == 3", 2, {"ep": 2, "dp_shard": 2}, SHARED, nodes=2
    ),
    "experts_in_a_pipeline": Wanted(
        "ep == 2, pp == 2, dp_shard == 8", 4, {"ep": 2, "pp": 2, "dp_shard": 2}, EXPERTS, nodes=2
    ),
}


CASES = {case: replace(wanted, options=VERSION) for case, wanted in LAYOUTS.items()}


@pytest.mark.parametrize("case", CASES)
def test_layouts_train(case: str, smokes: Smokes, request: pytest.FixtureRequest) -> None:
    check(smokes[request.node.nodeid], CASES[case])
