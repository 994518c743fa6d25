"""The model of a script: that of an emitted one is the job's, and options and defaults of others are read."""

from __future__ import annotations

import pytest

from parc.backends.megatron import BACKEND
from parc.compiler.plan import Layout
from parc.dsl import std_model
from parc.dsl.library import std_entries
from parc.dsl.model import Model
from tests.support.megatron_plans import DENSE, MOE, plan_of, with_model
from tests.support.read_back import read_back

MODELS = [entry.name for entry in std_entries() if entry.kind == "model"]
#: What has a default that follows from other fields; `full` compares what it becomes.
DERIVED = {"name", "kv_heads", "head_dim", "expert_ffn", "activation", "max_positions"}
SWITCHES = "--hidden-size 512 --num-attention-heads 8 --num-layers 2 --micro-batch-size 1"


def full(model: Model) -> dict[str, object]:
    latent = model.mla
    found: dict[str, object] = model.model_dump(exclude=DERIVED)
    return found | {
        "kv_heads": None if latent else model.groups,
        "head_dim": None if latent else model.head_size,
        "expert_ffn": model.expert_width if model.moe else None,
        "activation": model.activation_name,
        "mtp_weight": model.mtp_weight if model.mtp_layers else None,
    }


def imported(files: dict[str, str]) -> Model:
    job = read_back(files)
    sizes = {name: job.number(name) for name in ("layers", "hidden", "heads", "kv_heads")}
    return Model.model_validate(sizes | BACKEND.reader.model(job))


def refused(model: Model) -> bool:
    return bool(BACKEND.target.refuses(plan_of(model).job))


@pytest.mark.parametrize("name", MODELS)
def test_an_emitted_model_is_read_back(name: str) -> None:
    model = std_model(name)
    if refused(model):
        model = with_model(
            model, rope_scaling="none", rope_factor=1.0, rope_original_positions=None
        )
        model = with_model(model, rope_beta_fast=32.0, rope_mscale=1.0, rope_mscale_all_dim=0.0)
        model = with_model(model, q_lora_rank=1536 if model.mla else 0)
    plan = plan_of(model, Layout(dp_shard=8, zero=1, microbatches=16), seq_len=2048)
    assert full(imported(dict(BACKEND.emit(plan)))) == full(model)


@pytest.mark.parametrize(
    "model",
    [
        with_model(DENSE, rope_scaling="linear", rope_factor=4.0),
        with_model(DENSE, window=512, full_attention_every=6, attention_sinks=True),
        with_model(DENSE, glu_clamp=7.0, glu_offset=1.0, init_std=0.01),
        with_model(MOE, topk=1, router_norm=False, z_loss=1e-3),
        with_model(MOE, router_score="sigmoid", aux_loss=0.01, aux_loss_over="global_batch"),
    ],
)
def test_features_are_read_back(model: Model) -> None:
    plan = plan_of(model, Layout(dp_shard=8, zero=1, microbatches=16))
    assert full(imported(dict(BACKEND.emit(plan)))) == full(model)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("--quick-geglu --glu-linear-offset 1.0", {"gated": True, "activation": "quick_gelu"}),
        ("--window-size 127,0 --window-attn-skip-freq [1,1,1,0]*6", {"full_attention_every": 4}),
        ("--window-size 127,0 --window-attn-skip-freq [1,0,0]", {"window": 128}),
        ("--num-experts 8 --moe-layer-freq [0]*3+[1]*58", {"dense_layers": 3}),
        ("--num-experts 8 --moe-router-score-function sigmoid", {"router_score": "sigmoid"}),
        ("--num-experts 8 --moe-router-enable-expert-bias", {"router_bias_rate": 1e-3}),
        ("--num-experts 8 --moe-aux-loss-coeff 1e-3", {"aux_loss_over": "micro_batch"}),
        (
            "--position-embedding-type rope --multi-latent-attention --rotary-scaling-factor 40",
            {"rope_scaling": "yarn", "rope_factor": 40.0, "rope_original_positions": 4096},
        ),
        (
            "--position-embedding-type yarn --rotary-scaling-factor 32",
            {"position": "rope", "rope_scaling": "yarn", "rope_factor": 32.0},
        ),
    ],
)
def test_options_and_their_defaults(options: str, wanted: dict[str, object]) -> None:
    job = read_back({"run.sh": f"torchrun pretrain_gpt.py {SWITCHES} {options}\n"})
    found = BACKEND.reader.model(job)
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        ("--num-experts 8 --moe-layer-freq [0,1]*4", "dense_layers"),
        ("--window-size 127,0 --window-attn-skip-freq [1,0,0]", "full_attention_every"),
        (
            "--num-experts 8 --moe-router-load-balancing-type none --moe-aux-loss-coeff 1",
            "aux_loss",
        ),
        ("--multi-latent-attention --kv-channels 128 --position-embedding-type rope", "head_dim"),
        ("--multi-latent-attention --position-embedding-type rope", "rope_scaling"),
    ],
)
def test_what_is_not_said_is_not_read(options: str, absent: str) -> None:
    job = read_back({"run.sh": f"torchrun pretrain_gpt.py {SWITCHES} {options}\n"})
    assert absent not in BACKEND.reader.model(job)
