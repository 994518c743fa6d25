"""How the options of Megatron-LM, of its older releases and of its forks tell what they are."""

from ...released_options import framework_table
from ..option_rows import ROWS

#: The degree of tensor parallelism as Megatron-LM 1 spells it, and no later release.
FIRST_DEGREE = "--model-parallel-size"
#: The number of key and value heads that counts without --group-query-attention.
KV_HEADS = "--num-key-value-heads"
#: What says how much is recomputed, and what says it in other words: the method was once all there was.
GRANULARITY = "--recompute-granularity"
RECOMPUTES = {
    "--recompute-activations": "selective",
    "--checkpoint-activations": "full",
    "--activations-checkpoint-method": "full",
}
#: What turns on FP8 and FP4 in matmuls; --fp4-recipe is nvfp4 unless given.
FP8, FP4 = "--fp8-format", "--fp4-format"

#: Options that only Megatron and its forks have: a command with two of them is theirs.
_TELLING_WORDS = """--tensor-model-parallel-size --pipeline-model-parallel-size --num-layers --hidden-size
    --num-attention-heads --micro-batch-size --global-batch-size --seq-length --max-position-embeddings
    --train-iters --train-samples --train-tokens --use-distributed-optimizer --context-parallel-size
    --expert-model-parallel-size --ffn-hidden-size"""
TELLING = frozenset(_TELLING_WORDS.split())
#: An option of Hugging Face TrainingArguments that no Megatron has: a command with it is the Trainer's, whose
#: program may have a `--batch_size` and a `--max_length` of its own.
TRAINERS = "--per-device-train-batch-size"
_TABLE = framework_table("megatron").by_name
#: Switches: what stands behind them is no value of theirs.
SWITCHES = frozenset(
    name for name, forms in _TABLE.items() if all(form.kind == "switch" for form, _ in forms)
).union(row.name for row in ROWS.rows if row.switch)
#: Facts of which ms-swift has defaults that are not Megatron-LM's (its megatron_args.py).
SWIFTS_OWN = ("precision", "recompute", "distributed_optimizer", "sharding")
#: Stages of --data-parallel-sharding-strategy.
SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
