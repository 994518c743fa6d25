"""Wrong edits of YAML whose keys are Megatron's."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import broken, value
from benchmarks.lint.mutations.mutation import Files, Mutation

PATH = "train.yaml"
_NEMO = """trainer: {num_nodes: 4, devices: 8, precision: bf16}
model:
  micro_batch_size: 1
  global_batch_size: 256
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  context_parallel_size: 1
  expert_model_parallel_size: 4
  encoder_seq_length: 4096
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
  num_moe_experts: 8
"""
_NEOX = """model_parallel_size: 4
pipe_parallel_size: 2
num_layers: 32
hidden_size: 4096
num_attention_heads: 32
seq_length: 2048
train_micro_batch_size_per_gpu: 4
"""
JOBS: dict[str, Files] = {"nemo": {PATH: _NEMO}, "gpt-neox": {PATH: _NEOX}}

MEGATRON_YAML: tuple[Mutation, ...] = (
    value(PATH, "tensor_model_parallel_size: ", (3, 5, 6)),
    value(PATH, "pipeline_model_parallel_size: ", (3, 5)),
    value(PATH, "context_parallel_size: ", (3, 5)),
    value(PATH, "expert_model_parallel_size: ", (3, 5)),
    value(PATH, "num_nodes: ", (3, 5)),
    value(PATH, "devices: ", (3, 5, 7)),
    value(PATH, "global_batch_size: ", (255, 254, 7)),
    value(PATH, "micro_batch_size: ", (3, 5, 7), also="trainer:"),
    value(PATH, "num_attention_heads: ", (30, 33)),
    value(PATH, "(?<!tensor_)model_parallel_size: ", (3, 5, 7), also="pipe_parallel_size"),
    broken(PATH),
)
