"""YAML whose keys are Megatron's: what NeMo, FlagScale, Primus and GPT-NeoX write, in files of our own."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron.read.yaml_config import is_config
from parc.reading.facts import Unknown

NEMO = """
defaults: [_self_]
trainer: {devices: 8, num_nodes: 4, precision: bf16-mixed}
exp_manager:
  checkpoint_callback_params:
    model_parallel_size: ${multiply:${model.tensor_model_parallel_size}, 2}
model:
  micro_batch_size: 2
  global_batch_size: 256
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  context_parallel_size: 1
  virtual_pipeline_model_parallel_size: null
  encoder_seq_length: 4096
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
  num_query_groups: 8
  sequence_parallel: False
  activations_checkpoint_granularity: null
  activations_checkpoint_method: block
  fp8: False
  fp8_hybrid: True
"""
FLAGSCALE = """
system:
  tensor_model_parallel_size: [2, 4]
  pipeline_model_parallel_size: auto
  use_distributed_optimizer: True
model: {num_layers: 24, hidden_size: 2048, num_attention_heads: 16, seq_length: 4096}
experiment: {runner: {nnodes: 2, nproc_per_node: 8}}
"""
PRIMUS = """
modules:
  pre_trainer:
    framework: megatron
    overrides:
      tensor_model_parallel_size: ${PRIMUS_TP:2}
      expert_model_parallel_size: ${PRIMUS_EP}
      seq_length: 8192
      decoder_num_layers_in_last_pipeline_stage: 6
      num_layers: 62
"""
NEOX = """{
  # comments, and a trailing comma
  "pipe-parallel-size": 0,
  "model-parallel-size": 2,
  "num-layers": 44, "hidden-size": 6144, "num-attention-heads": 64, "seq-length": 2048,
  "train_micro_batch_size_per_gpu": 4, "train_batch_size": 1536,
  "zero_optimization": {"stage": 1,},
  "fp16": {"enabled": true},
}
"""


def facts(text: str) -> dict[str, Any]:
    (found,) = read_jobs({"conf.yaml": text})
    values = found.values()
    return {name: value for name, value in values.items() if not isinstance(value, Unknown)}


def unknown(text: str) -> dict[str, str]:
    (found,) = read_jobs({"conf.yaml": text})
    return {
        name: value.reason for name, value in found.values().items() if isinstance(value, Unknown)
    }


def test_nemo() -> None:
    found = facts(NEMO)
    assert found == {
        "nodes": 4, "gpus_per_node": 8, "gpus": 32, "micro_batch": 2, "global_batch": 256, "tp": 4, "pp": 2,
        "cp": 1, "seq_len": 4096, "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "dp": 4,
        "sequence_parallel": False, "recompute": "none", "precision": "bf16",
    }  # fmt: skip


def test_flagscale_and_its_tuner() -> None:
    found = facts(FLAGSCALE)
    assert (found["gpus"], found["layers"], found["distributed_optimizer"]) == (16, 24, True)
    assert {"tp", "pp"} <= unknown(FLAGSCALE).keys() and "twice" in unknown(FLAGSCALE)["tp"]


def test_primus_with_variables_and_uneven_stages() -> None:
    found = facts(PRIMUS)
    assert (found["tp"], found["seq_len"]) == (2, 8192) and "layers" not in found
    assert "filled in at the start" in unknown(PRIMUS)["ep"]
    assert "decoder_num_layers_in_last_pipeline_stage" in unknown(PRIMUS)["layers"]


def test_gpt_neox() -> None:
    found = facts(NEOX)
    expected = {
        "pp": 1, "tp": 2, "layers": 44, "hidden": 6144, "heads": 64, "seq_len": 2048, "micro_batch": 4,
        "global_batch": 1536, "zero": 1,
    }  # fmt: skip
    assert {name: found.get(name) for name in expected} == expected
    (job,) = read_jobs({"conf.yml": NEOX})
    assert str(job.kind) == "gpt-neox-yaml"
    (heads,) = (fact for fact in job.facts if fact.name == "heads")
    assert (heads.line, heads.column) == (5, 65)


@pytest.mark.parametrize("key", ["tensor_model_parallel_size", "num_layers", "micro_batch_size"])
def test_a_key_that_says_two_things_is_unknown(key: str) -> None:
    other = f"vision:\n  {key}: 77\n"
    assert facts(NEMO).keys() - facts(NEMO + other).keys() >= {
        {
            "tensor_model_parallel_size": "tp",
            "num_layers": "layers",
            "micro_batch_size": "micro_batch",
        }[key]
    }
    assert facts(NEMO + "vision:\n  hidden_size: 4096\n") == facts(NEMO)


def test_what_is_not_said_may_be_in_another_file() -> None:
    text = "model:\n  tensor_model_parallel_size: 2\n"
    assert facts(text) == {"tp": 2} and "dp" not in unknown(text)
    assert set(unknown(text).values()) == {"a file that is merged with this one may say it"}


def test_other_yaml_is_none() -> None:
    assert not is_config("args: --tensor_model_parallel_size: 2\n# model_parallel_size: 3\n")
    (found,) = read_jobs({"values.yaml": "replicas: 3\n"})
    assert str(found.kind) == "unread" and found.facts == ()
