"""YAML of llm-foundry and of OLMo."""

from __future__ import annotations

import pytest

from benchmarks.lint.mutations.foundry import JOBS, PATH
from parc.backends.launch_files import read_jobs
from parc.reading.facts import Unknown

RUN = JOBS["mpt"][PATH]
OLMO = """model:
  d_model: 4096
  n_heads: 32
  n_layers: 32
  max_sequence_length: 4096
global_train_batch_size: 1024
device_train_microbatch_size: 2
precision: amp_bf16
fsdp:
  precision: mixed
activation_checkpointing: whole_layer
"""
WIDTHS = {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 32, "tp": 1, "pp": 1, "cp": 1}


def _facts(text: str) -> dict[str, object]:
    (config,) = read_jobs({PATH: text})
    return {fact.name: fact.value for fact in config.facts}


def test_a_run_on_the_platform() -> None:
    said = {"seq_len": 2048, "global_batch": 512, "micro_batch": 4, "gpus": 8, "dp": 8}
    assert _facts(RUN) == WIDTHS | said | {"precision": "bf16", "zero": 3, "recompute": "full"}


def test_olmo() -> None:
    said = {"seq_len": 4096, "global_batch": 1024, "micro_batch": 2}
    assert _facts(OLMO) == WIDTHS | said | {"precision": "bf16", "zero": 3, "recompute": "full"}


@pytest.mark.parametrize(
    "old, new, fact, value",
    [
        ("max_seq_len: 2048", "max_seq_len: ${n}\n  n: 512", "seq_len", 512),
        ("max_seq_len: 2048", "max_seq_len: ${n}", "seq_len", Unknown),
        ("size: 4", "size: auto", "micro_batch", Unknown),
        ("FULL_SHARD", "_HYBRID_SHARD_ZERO2", "zero", 2),
        ("FULL_SHARD", "OTHER", "zero", Unknown),
        ("amp_bf16", "amp_fp8", "precision", "bf16+fp8"),
        ("n_layers: 32", "n_layers: 32\n    attn_config: {kv_n_heads: 8}", "kv_heads", 8),
        (
            "n_layers: 32",
            "n_layers: 32\n    attn_config: {attn_type: grouped_query_attention}",
            "kv_heads",
            Unknown,
        ),
    ],
)
def test_other_words(old: str, new: str, fact: str, value: object) -> None:
    found = _facts(RUN.replace(old, new))[fact]
    assert isinstance(found, value) if value is Unknown else found == value


def test_a_key_that_refers_to_another() -> None:
    text = OLMO.replace("max_sequence_length: 4096", "max_sequence_length: ${variables.length}")
    assert _facts(text + "variables:\n  length: 8192\n")["seq_len"] == 8192


BERT = """max_seq_len: 512
model:
  name: hf_bert
  model_config:
    hidden_size: 768
    num_attention_heads: 12
    num_hidden_layers: 6
global_train_batch_size: 64
device_train_microbatch_size: 8
"""


def test_a_bert_has_the_keys_of_hugging_face() -> None:
    told = _facts(BERT)
    sizes = {"layers": 6, "hidden": 768, "heads": 12, "kv_heads": 12, "seq_len": 512}
    assert {name: told[name] for name in sizes} == sizes
