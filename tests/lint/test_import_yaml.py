"""`parc import` of YAML of programs that parc never writes: a job with the file's model, which is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from tests.support.linted import Captured

LLAMA = """general:
  seed: 7
model:
  dtype: bfloat16
  init_method:
    std: 0.025
  model_config:
    hidden_size: 1024
    intermediate_size: 3584
    is_llama_config: true
    num_attention_heads: 16
    num_hidden_layers: 16
    num_key_value_heads: 4
    rms_norm_eps: 1.0e-05
    rope_theta: 500000.0
    tie_word_embeddings: true
    vocab_size: 49152
optimizer:
  zero_stage: 1
  learning_rate_scheduler:
    learning_rate: 0.0003
parallelism:
  dp: 4
  pp: 2
  tp: 2
  pp_engine: 1f1b
tokens:
  batch_accumulation_per_replica: 4
  micro_batch_size: 2
  sequence_length: 2048
  train_steps: 1000
"""
STARCODER = LLAMA.replace("is_llama_config", "is_starcoder2_config").replace(
    "    num_key_value_heads: 4\n", "    grouped_query: true\n    num_kv_heads: 2\n"
)
MPT = """max_seq_len: 2048
model:
  name: mpt_causal_lm
  d_model: 1024
  n_heads: 16
  n_layers: 12
  expansion_ratio: 2
  vocab_size: ${tokens}
tokens: 32000
max_duration: 4800ba
global_train_batch_size: 256
device_train_microbatch_size: 8
precision: amp_bf16
fsdp_config:
  sharding_strategy: FULL_SHARD
"""
ON_PLATFORM = "compute:\n  gpus: 16\nparameters:\n" + "".join(
    f"  {line}\n" for line in MPT.replace("${tokens}\ntokens: 32000", "32000").splitlines()
)
OLMO = """model:
  d_model: 1024
  n_heads: 16
  n_layers: 12
  mlp_ratio: 8
  rope: true
  include_bias: false
  weight_tying: false
  layer_norm_type: rms
  max_sequence_length: 2048
  vocab_size: 50280
optimizer:
  learning_rate: 4.0e-4
max_duration: 1e9T
global_train_batch_size: 64
device_train_microbatch_size: 4
precision: amp_bf16
fsdp:
  precision: mixed
"""
#: File, values of the model, steps, and nodes (None: left to parc).
FILES = {
    "nanotron's Llama": (
        LLAMA,
        {
            "ffn": 3584, "vocab": 49152, "kv_heads": 4, "gated": True, "norm": "rmsnorm", "tied": True,
            "norm_eps": 1e-5, "rope_theta": 5e5, "init_std": 0.025, "bias": False,
        },
        1000,
        2,
    ),
    "nanotron's Llama with its own width": (
        LLAMA.replace("    intermediate_size: 3584\n", ""), {"ffn": 11008}, 1000, 2,
    ),
    "nanotron's Starcoder2": (
        STARCODER,
        {"ffn": 3584, "gated": False, "norm": "layernorm", "bias": True, "tied": True, "kv_heads": 2},
        1000,
        2,
    ),
    "llm-foundry's MPT": (
        MPT,
        {
            "ffn": 2048, "vocab": 32000, "gated": False, "norm": "layernorm", "position": "learned",
            "bias": True, "tied": True,
        },
        4800,
        None,
    ),
    "MPT with rope, gates and no bias": (
        MPT.replace(
            "  vocab_size",
            "  no_bias: true\n  attn_config:\n    rope: true\n  ffn_config:\n    ffn_type: mptglu\n"
            "    ffn_act_fn:\n      name: silu\n  vocab_size",
        ),
        {"gated": True, "activation": None, "position": "rope", "bias": False},
        4800,
        None,
    ),
    "MosaicML's platform": (ON_PLATFORM, {"ffn": 2048, "vocab": 32000}, 4800, 2),
    "OLMo": (
        OLMO,
        {
            "ffn": 4096, "vocab": 50280, "gated": True, "norm": "rmsnorm", "position": "rope",
            "bias": False, "tied": False,
        },
        10**9 // (64 * 2048),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("text, model, steps, nodes", FILES.values(), ids=FILES)
def test_a_yaml_becomes_a_job_that_is_planned(
    text: str, model: dict[str, object], steps: int, nodes: int | None, capsys: Captured
) -> None:
    Path("run.yaml").write_text(text)
    assert main(["import", "run.yaml", "--cluster", "std.h100_pod", "-o", "job.par"]) == 0
    told = capsys.readouterr().err
    assert told == ("" if nodes else "not in the files: cluster.nodes\n")
    job = parc.load("job.par")
    assert {name: getattr(job.model, name) for name in model} == model
    assert job.train.steps == steps
    assert nodes is None or job.cluster.nodes == (nodes,)
    assert main(["plan", "job.par"]) == 0
    assert "megatron" in capsys.readouterr().out


def test_a_model_from_elsewhere_is_to_be_filled_in(capsys: Captured) -> None:
    Path("run.yaml").write_text(MPT.replace("mpt_causal_lm", "hf_causal_lm"))
    assert main(["import", "run.yaml", "--cluster", "std.h100_pod"]) == 0
    told = capsys.readouterr().err
    assert "not in the files: model.ffn" in told and "not in the files: model.vocab" in told
