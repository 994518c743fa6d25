"""Wrong edits of verl's commands."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import value
from benchmarks.lint.mutations.mutation import Files, Mutation

PATH = "run.sh"
_ACTOR = "actor_rollout_ref.actor."
_FSDP = f"""python3 -m verl.trainer.main_ppo data.train_batch_size=1024 \\
    {_ACTOR}ppo_mini_batch_size=256 {_ACTOR}ppo_micro_batch_size_per_gpu=8 \\
    actor_rollout_ref.rollout.n=4 {_ACTOR}ulysses_sequence_parallel_size=2 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=2
"""
_MEGATRON = f"""python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer \\
    data.train_batch_size=1024 {_ACTOR}ppo_mini_batch_size=256 {_ACTOR}ppo_micro_batch_size_per_gpu=8 \\
    actor_rollout_ref.rollout.n=4 {_ACTOR}megatron.tensor_model_parallel_size=4 \\
    {_ACTOR}megatron.pipeline_model_parallel_size=2 {_ACTOR}megatron.expert_model_parallel_size=2 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=2
"""
JOBS: dict[str, Files] = {"fsdp": {PATH: _FSDP}, "megatron": {PATH: _MEGATRON}}

VERL: tuple[Mutation, ...] = (
    value(PATH, "data.train_batch_size=", (128, 1001, 1023)),
    value(PATH, "ppo_micro_batch_size_per_gpu=", (3, 5, 7)),
    value(PATH, "ppo_mini_batch_size=", (2048, 4096)),
    value(PATH, "trainer.n_gpus_per_node=", (3, 5, 7)),
    value(PATH, "trainer.nnodes=", (3, 5)),
    value(PATH, "tensor_model_parallel_size=", (3, 5, 6)),
    value(PATH, "pipeline_model_parallel_size=", (3, 5)),
    value(PATH, "expert_model_parallel_size=", (3, 5, 16)),
)
