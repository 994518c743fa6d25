"""What Megatron-LM's layers keep for their backward pass is what the cost model counts, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.options import Options
from parc.compiler.case import Case
from parc.compiler.memory import activations
from parc.compiler.plan import Layout, Plan
from parc.dsl.model import Model
from tests.acceptance.support.hugging_face import BATCH, SEQUENCE, tiny
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import recorded, write
from tests.support.sample_plans import sample_plan, train_of

BACKEND = BACKENDS["megatron"]
TOKENS = BATCH * SEQUENCE
NONE, FINE, WHOLE_MOE = 0, 3, 4
#: The width tells a token's copy from the inner width of its expert.
MODELS = {
    "deepseek_v3": tiny("deepseek_v3", rope_original_positions=4096, hidden=192),
    "qwen3_30b_a3b": tiny("qwen3_30b_a3b", hidden=192),
}


def plan_of(model: Model, recompute: int) -> Plan:
    train = train_of(seq_len=SEQUENCE, global_batch=BATCH, steps=10, warmup=1)
    layout = Layout(micro_batch=BATCH, microbatches=1, recompute=recompute)
    return sample_plan("megatron", Options(), model=model, train=train, layout=layout)


def case_of(name: str, recompute: int, folder: Path) -> dict[str, Any]:
    here = write(BACKEND.emit(plan_of(MODELS[name], recompute)), folder / f"{name} {recompute}")
    started = recorded(here / "megatron" / "pretrain.sh", here, 1)
    return {
        "name": f"{name} {recompute}",
        "arguments": list(started.program[1:]),
        "batch": BATCH,
        "tokens": SEQUENCE,
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("megatron")
    wanted = [(name, recompute) for name in MODELS for recompute in (NONE, FINE, WHOLE_MOE)]
    found = probe(
        "megatron", "megatron_kept_probe", [case_of(*each, folder) for each in wanted], folder
    )
    assert [answer["stage"] for answer in found] == ["counted"] * len(wanted), found
    return dict(zip(wanted, found, strict=True))


def discarded_per_token(name: str) -> float:
    """Bytes that the cost model says all layers discard, as the modules without Transformer Engine discard
    them: their norms of compressed inputs stand before what is recomputed, and the one before grouped-query
    attention is no part of the product."""
    model = MODELS[name]
    case = Case(plan_of(model, FINE).job, BACKEND.target)
    attention = activations.attention_discarded(case, 1.0, 1.0)
    apart = -(model.q_lora_rank + model.kv_lora_rank) if model.mla else model.hidden
    moe = activations.moe_discarded(case, 1.0, 1.0, 1.0)
    none = activations.dense_bytes(case, 1.0, 1.0)
    dense = none - activations.ffn_kept(case, none, 1.0, 1.0, FINE, moe=False)
    counted = model.layers * (attention + 2 * apart) + model.moe_layers * moe
    return float(counted + (model.layers - model.moe_layers) * dense)


@pytest.mark.parametrize("name", MODELS)
def test_fine_recomputation_discards_what_is_counted(
    name: str, answers: dict[tuple[str, int], dict[str, Any]]
) -> None:
    kept, left = (sum(answers[name, recompute]["kept"]) for recompute in (NONE, FINE))
    assert kept - left == discarded_per_token(name) * TOKENS > 0


@pytest.mark.parametrize("name", MODELS)
def test_the_whole_moe_half_keeps_nothing_but_its_input(
    name: str, answers: dict[tuple[str, int], dict[str, Any]]
) -> None:
    """What fine recomputation keeps of the MoE half, less its input, is what recompute = moe saves more; and
    the scores and maps of the router, which are not counted: at most 20 bytes per expert and token.
    """
    model = MODELS[name]
    case = Case(plan_of(model, WHOLE_MOE).job, BACKEND.target)
    none = activations.moe_bytes(case, 1.0, 1.0, 1.0)
    fine, whole = (
        activations.moe_kept(case, none, 1.0, 1.0, 1.0, mode) for mode in (FINE, WHOLE_MOE)
    )
    kept, left = (sum(answers[name, recompute]["kept"]) for recompute in (FINE, WHOLE_MOE))
    per_token = (kept - left) / (model.moe_layers * TOKENS)
    assert 0 <= per_token - (fine - whole) <= 20 * model.experts and whole < fine


@pytest.mark.parametrize("recompute", [FINE, WHOLE_MOE])
@pytest.mark.parametrize("name", MODELS)
def test_recomputation_changes_no_gradient(
    name: str, recompute: int, answers: dict[tuple[str, int], dict[str, Any]]
) -> None:
    plain, again = (answers[name, mode]["gradients"] for mode in (NONE, recompute))
    assert again == pytest.approx(plain, rel=1e-6) and max(plain) > 0


@pytest.mark.parametrize("name", MODELS)
def test_experts_keep_the_copies_that_come_in_and_none_that_go_out(
    name: str, answers: dict[tuple[str, int], dict[str, Any]]
) -> None:
    model = MODELS[name]
    copies = 2 * TOKENS * model.topk * model.hidden
    assert answers[name, NONE]["kept"].count(copies) == model.moe_layers
    assert not BACKEND.target.traits.memory.keeps_expert_outputs


def test_delayed_scaling_refuses_what_experts_discard(tmp_path: Path) -> None:
    """PAR448's reason: the modules of another recipe, with delayed scaling."""
    train = train_of(seq_len=SEQUENCE, global_batch=BATCH, steps=10, warmup=1, precision="fp8")
    plan = sample_plan(
        "megatron",
        Options(fp8_recipe="tensorwise"),
        model=MODELS["qwen3_30b_a3b"],
        train=train,
        layout=Layout(micro_batch=BATCH, microbatches=1, recompute=FINE),
    )
    here = write(BACKEND.emit(plan), tmp_path / "fine")
    words = list(recorded(here / "megatron" / "pretrain.sh", here, 1).program[1:])
    case = {"environment": {}, "world": 1, "capability": [9, 0], "build": False}
    delayed = ["delayed" if word == "tensorwise" else word for word in words]
    cases = [
        case | {"name": name, "arguments": given} for name, given in (("a", words), ("b", delayed))
    ]
    taken, refused = probe("megatron", "megatron_probe", cases, tmp_path)
    assert taken["stage"] == "accepted", taken
    assert "Delayed scaling does not support moe_act and layernorm" in refused["error"]
