"""Wrong edits of nanotron's YAML and of the command that names it."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import broken, value
from benchmarks.lint.mutations.mutation import Files, Mutation

PATH, SCRIPT = "config.yaml", "run.sh"
_CONFIG = """model:
  dtype: bfloat16
  model_config:
    hidden_size: 4096
    is_llama_config: true
    num_attention_heads: 32
    num_hidden_layers: 32
    num_key_value_heads: 8
optimizer:
  zero_stage: 1
parallelism:
  dp: 2
  expert_parallel_size: 1
  pp: 2
  pp_engine: 1f1b
  tp: 4
tokens:
  batch_accumulation_per_replica: 8
  micro_batch_size: 2
  sequence_length: 4096
  train_steps: 100
"""
_RUN = "torchrun --nnodes=2 --nproc_per_node=8 run_train.py --config-file config.yaml\n"
JOBS: dict[str, Files] = {"llama": {PATH: _CONFIG, SCRIPT: _RUN}}

NANOTRON: tuple[Mutation, ...] = (
    value(PATH, "  tp: ", (2, 3, 8)),
    value(PATH, "  pp: ", (1, 3, 4)),
    value(PATH, "  dp: ", (1, 3, 4)),
    value(PATH, "num_attention_heads: ", (30, 33)),
    value(PATH, "num_key_value_heads: ", (3, 6)),
    value(SCRIPT, "--nproc_per_node=", (4, 6, 7)),
    value(SCRIPT, "--nnodes=", (1, 3)),
    broken(PATH),
)
