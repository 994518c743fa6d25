"""Wrong edits of recipes of NeMo in Python."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import value
from benchmarks.lint.mutations.mutation import Files, Mutation

PATH = "recipe.py"
_OBJECTS = """from nemo import lightning as nl
from nemo.collections import llm

strategy = nl.MegatronStrategy(
    tensor_model_parallel_size=4, pipeline_model_parallel_size=2, context_parallel_size=1,
)
trainer = nl.Trainer(devices=8, num_nodes=2, strategy=strategy)
data = llm.MockDataModule(
    seq_length=4096, global_batch_size=32, micro_batch_size=2,
)
model = llm.LlamaModel(llm.LlamaConfig(num_layers=32, hidden_size=4096, num_attention_heads=32))
llm.train(model=model, data=data, trainer=trainer)
"""
_ASSIGNED = """import nemo_run as run
from nemo.collections import llm


def recipe():
    made = llm.llama3_70b.pretrain_recipe(name="x", num_nodes=2, num_gpus_per_node=8)
    made.trainer.strategy.tensor_model_parallel_size = 4
    made.trainer.strategy.pipeline_model_parallel_size = 2
    made.trainer.strategy.context_parallel_size = 1
    made.data.global_batch_size = 32
    made.data.micro_batch_size = 2
    return made


if __name__ == "__main__":
    run.run(recipe(), executor=run.LocalExecutor())
"""
JOBS: dict[str, Files] = {"objects": {PATH: _OBJECTS}, "assigned": {PATH: _ASSIGNED}}

NEMO: tuple[Mutation, ...] = (
    value(PATH, r"tensor_model_parallel_size\s*=\s*", (3, 5, 7)),
    value(PATH, r"pipeline_model_parallel_size\s*=\s*", (3, 5)),
    value(PATH, r"context_parallel_size\s*=\s*", (3, 5)),
    value(PATH, r"global_batch_size\s*=\s*", (31, 33, 1)),
    value(PATH, r"micro_batch_size\s*=\s*", (3, 5, 7)),
)
