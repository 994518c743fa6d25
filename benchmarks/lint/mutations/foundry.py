"""Wrong edits of YAML of llm-foundry, as MosaicML's platform runs it."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import broken, value
from benchmarks.lint.mutations.mutation import Files, Mutation

PATH = "run.yaml"
_RUN = """compute:
  gpus: 8
parameters:
  max_seq_len: 2048
  model:
    name: mpt_causal_lm
    d_model: 4096
    n_heads: 32
    n_layers: 32
  global_train_batch_size: 512
  device_train_microbatch_size: 4
  precision: amp_bf16
  fsdp_config:
    sharding_strategy: FULL_SHARD
    activation_checkpointing: true
"""
JOBS: dict[str, Files] = {"mpt": {PATH: _RUN}}

FOUNDRY: tuple[Mutation, ...] = (
    value(PATH, "n_heads: ", (30, 33, 24)),
    value(PATH, "d_model: ", (4090, 4100)),
    value(PATH, "global_train_batch_size: ", (510, 511, 100)),
    value(PATH, "gpus: ", (3, 5, 7)),
    broken(PATH),
)
